"""Which models run: what there is to choose from, what is downloaded, and the way to it."""
