"""Which models run: what there is to choose from, and what is downloaded."""
