"""How many bytes the weights of a tensor take in a GGUF file."""

from __future__ import annotations

from typing import Final

SIZES: Final = {
    0: (1, 4),
    1: (1, 2),
    2: (32, 18),
    3: (32, 20),
    6: (32, 22),
    7: (32, 24),
    8: (32, 34),
    10: (256, 84),
    11: (256, 110),
    12: (256, 144),
    13: (256, 176),
    14: (256, 210),
    15: (256, 292),
    16: (256, 66),
    17: (256, 74),
    18: (256, 98),
    19: (256, 50),
    20: (32, 18),
    21: (256, 110),
    22: (256, 82),
    23: (256, 136),
    24: (1, 1),
    25: (1, 2),
    26: (1, 4),
    27: (1, 8),
    28: (1, 8),
    29: (256, 56),
    30: (1, 2),
    34: (256, 54),
    35: (256, 66),
    39: (32, 17),
}
"""Weights in a block and bytes of one, by ggml's number of the type."""


def size_of(n_weights: int, kind: int) -> int:
    """In bytes. Of a type that is not known, a byte: there is something."""
    per_block, n_bytes = SIZES.get(kind, (max(1, n_weights), 1))
    return -(-n_weights // per_block) * n_bytes
