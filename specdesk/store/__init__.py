"""Chats on this disk: saved before decoding, kept as they are written, found again, taken out and brought in."""
