"""specdesk: speculative decoding for two GGUF models on one machine, exact and in plain sight."""

__version__ = "0.1.0"
