"""Finds the draft format, thread count and cache type that are fastest for a pair, and keeps them."""
