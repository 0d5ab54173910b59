"""Where files are had from: the hub, addresses, package registries. They deliver and put nothing away."""
