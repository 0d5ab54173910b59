"""Brings model files to this disk: under their names only once they are whole and checked."""
