"""Parts of screens: they take data and post messages, and know no engine."""
