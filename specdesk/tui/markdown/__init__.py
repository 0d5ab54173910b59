"""Markdown as models write it: cut into pieces while it grows, and made into rows. Knows no screen."""
