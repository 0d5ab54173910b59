from __future__ import annotations

import pytest

from specdesk.split_names import all_names


@pytest.mark.parametrize("number", [1, 2, 3])
def test_any_part_names_all_in_order(number: int) -> None:
    assert all_names(f"q4/big-0000{number}-of-00003.gguf") == (
        "q4/big-00001-of-00003.gguf",
        "q4/big-00002-of-00003.gguf",
        "q4/big-00003-of-00003.gguf",
    )


@pytest.mark.parametrize(
    "name",
    [
        "best-of-breed.gguf",
        "x-1-of-3.gguf",
        "x-00004-of-00003.gguf",
        "x-00000-of-00003.gguf",
        "x-00001-of-99999.gguf",
        "x-00001-of-00003.bin",
        "-00001-of-00003.gguf",
    ],
)
def test_a_name_that_only_looks_like_a_part_stands_for_itself(name: str) -> None:
    assert all_names(name) == (name,)


def test_the_suffix_stays_as_it_is_written() -> None:
    assert all_names("x-00002-of-00002.GGUF") == ("x-00001-of-00002.GGUF", "x-00002-of-00002.GGUF")
