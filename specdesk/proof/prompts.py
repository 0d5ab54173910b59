"""What is asked of the models: short questions of many kinds, and two lengths of text to read first."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

_SHORT: Final = (
    "Write a Python function that parses CSV with quoted fields.",
    "Tell a short story about a lighthouse keeper.",
    "A train leaves at 9:40 and arrives at 13:05. How long is the journey? Explain step by step.",
    'Give a JSON object for a book with the fields "title", "author", "year" and "tags".',
    "Explain what a hash table is to a child of ten.",
    "Write an SQL query that lists the five customers with the most orders.",
    "Translate into French: The harbour is closed until the storm has passed.",
    "Rename the variable x to total in this code: x = 0\nfor n in numbers:\n    x += n\nprint(x)",
    "List the planets of the solar system with one fact about each.",
    "Write a regular expression for dates like 2031-07-28 and explain its parts.",
    "Write a limerick about a cat that cannot sleep.",
    "What is the difference between a process and a thread?",
    "Solve 3x + 7 = 25 and check the result.",
    "Write a Bash script that prints the ten largest files below a folder.",
)


def _log(n_days: int) -> str:
    """A log of some 30 tokens a day, no two days alike."""
    winds = ("north", "north-east", "east", "south-east", "south", "south-west", "west", "north-west")
    return "\n".join(
        f"Day {day}: wind {7 + day * 11 % 29} knots from the {winds[day * 5 % 8]}, {day * 7 % 13} ships passed, "
        f"lamp lit at {17 + day % 3}:{day * 17 % 60:02d}."
        for day in range(1, n_days + 1)
    )


_QUESTIONS: Final = (
    "On which day was the wind strongest?",
    "Sum up the log in two sentences.",
    "Write a Python list of the numbers of ships.",
)
_MEDIUM: Final = tuple(f"{_log(9)}\n\n{question}" for question in _QUESTIONS)
_LONG: Final = tuple(f"{_log(29)}\n\n{question}" for question in _QUESTIONS)

PROMPTS: Final[Sequence[str]] = (*_SHORT, *_MEDIUM, *_LONG)
"""Twenty; the last six hold some 300 and some 900 tokens of text for a vocabulary of 150,000."""

QUICK: Final[Sequence[str]] = (_SHORT[0], _SHORT[1], _SHORT[2], _MEDIUM[0])
"""Four of them, one long enough to pass 256 tokens."""
