"""What is asked: the prompts that come with specdesk, or a user's own from a file of JSON lines."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import Any

from specdesk.errors import UsageError


@dataclass(frozen=True, slots=True)
class Prompt:
    """One conversation to be had."""

    id: str
    task: str
    """Which kind it is of: figures are given for each."""
    turns: tuple[str, ...]
    """What the user says, one question after each answer; at least one, none of them blank."""


def own_prompts() -> tuple[Prompt, ...]:
    """Those that come with specdesk, the tasks in the order they are reported in."""
    text = resources.files("specdesk.bench").joinpath("tasks.toml").read_text(encoding="utf-8")
    return tuple(_prompt(record) for record in tomllib.loads(text)["prompt"])


def read_prompts(path: Path) -> tuple[Prompt, ...]:
    """Prompts from a file with a JSON object per line: id, category and turns, a list of what the user says.

    Blank lines are passed over, and so are further fields. Raises UsageError, naming file and line, for what cannot be
    read, for a line that is no such object, an id that stood before, and a file without prompts.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except OSError as error:
        raise UsageError(f"cannot read {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{path} is not UTF-8 text (byte {error.start})") from error
    found: dict[str, Prompt] = {}
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            prompt = _prompt(json.loads(line))
        except json.JSONDecodeError as error:
            raise UsageError(f"{path}, line {number}: not JSON, {error.msg} at column {error.colno}") from error
        except (ValueError, RecursionError) as error:
            raise UsageError(f"{path}, line {number}: {error}") from error
        if prompt.id in found:
            raise UsageError(f"{path}, line {number}: there is an id {prompt.id!r} before")
        found[prompt.id] = prompt
    if not found:
        raise UsageError(f"{path} has no prompts", 'a line looks like {"id": 1, "category": "code", "turns": ["..."]}')
    return tuple(found.values())


def tasks_of(prompts: Sequence[Prompt]) -> list[str]:
    """The tasks, each once, in the order they come."""
    return list(dict.fromkeys(prompt.task for prompt in prompts))


def chosen(prompts: Sequence[Prompt], tasks: Sequence[str], *, one_each: bool) -> tuple[Prompt, ...]:
    """The prompts of `tasks`, of all without any; with `one_each` the first of each.

    Raises UsageError for a task that none of the prompts is of.
    """
    known = tasks_of(prompts)
    for task in tasks:
        if task not in known:
            raise UsageError(f"there is no task {task!r}", f"there are {', '.join(known)}")
    left = [prompt for prompt in prompts if not tasks or prompt.task in tasks]
    if one_each:
        left = [next(prompt for prompt in left if prompt.task == task) for task in tasks_of(left)]
    return tuple(left)


def _prompt(record: Any) -> Prompt:
    """Raises ValueError, saying what is wrong."""
    if not isinstance(record, dict):
        raise ValueError("not an object")  # noqa: TRY004 — what a file says is a value
    for name in ("id", "category", "turns"):
        if name not in record:
            raise ValueError(f"there is no {name!r}")
    number, task, turns = record["id"], record["category"], record["turns"]
    if not isinstance(number, str | int) or isinstance(number, bool) or not str(number).strip():
        raise ValueError(f"an id is a text or a whole number, not {number!r}")
    if not isinstance(task, str) or not task.strip():
        raise ValueError(f"a category is a text, not {task!r}")
    if not isinstance(turns, list) or not turns or not all(isinstance(turn, str) and turn.strip() for turn in turns):
        raise ValueError("turns are a list of texts, one at least and none of them blank")
    if any("\ud800" <= letter <= "\udfff" for text in (str(number), task, *turns) for letter in text):
        raise ValueError("half a surrogate pair is no text")
    return Prompt(str(number), task, tuple(turn.strip("\n") for turn in turns))
