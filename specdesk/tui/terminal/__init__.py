"""What terminals do in their own ways: colours, keys, pastes, clipboards."""
