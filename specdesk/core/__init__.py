"""The algorithm: draft, verify, sample.

Standard library and NumPy only; no model format, no files, no screen, no clock of its own.
"""
