"""The claims of exactness, tried on the user's own models and machine."""
