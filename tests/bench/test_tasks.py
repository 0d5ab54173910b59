"""The prompts that come with specdesk, and files of others."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from specdesk.bench.tasks import Prompt, chosen, own_prompts, read_prompts, tasks_of
from specdesk.errors import UsageError

TASKS = ["code", "edit", "json", "maths", "chat", "summary", "translation", "story", "retrieval"]
LINE = '{"id": 1, "category": "code", "turns": ["Hello"]}\n'


def test_every_task_has_three_prompts_or_more_and_none_stands_twice() -> None:
    prompts = own_prompts()
    counts = Counter(prompt.task for prompt in prompts)
    assert set(counts) == set(TASKS)
    assert min(counts.values()) >= 3
    assert len({prompt.id for prompt in prompts}) == len(prompts)
    assert len({prompt.turns for prompt in prompts}) == len(prompts)


def test_texts_have_the_length_their_task_is_about() -> None:
    """Some 4/3 of a token per English word."""
    words = {prompt.id: len(prompt.turns[0].split()) for prompt in own_prompts()}
    assert all(450 <= n <= 680 for name, n in words.items() if name.startswith("retrieval"))
    assert all(150 <= n <= 200 for name, n in words.items() if name.startswith("translation"))
    assert all(n >= 220 for name, n in words.items() if name.startswith("summary"))


def test_edits_ask_for_code_alone() -> None:
    edits = [prompt for prompt in own_prompts() if prompt.task == "edit"]
    assert all("Answer with the whole changed code only." in " ".join(prompt.turns[0].split()) for prompt in edits)


def test_choosing() -> None:
    prompts = own_prompts()
    assert chosen(prompts, (), one_each=False) == prompts
    quick = chosen(prompts, (), one_each=True)
    assert [prompt.task for prompt in quick] == tasks_of(prompts)
    assert all(len(prompt.turns) == 1 for prompt in quick)
    assert {prompt.task for prompt in chosen(prompts, ("json", "story"), one_each=False)} == {"json", "story"}
    with pytest.raises(UsageError, match=r"no task 'poetry'.*retrieval"):
        chosen(prompts, ("poetry",), one_each=False)


def test_a_file_of_prompts(tmp_path: Path) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text(f'{LINE}\n{{"id": "b", "category": "x", "turns": ["One\\n", "Two"], "source": "mine"}}')
    assert read_prompts(path) == (Prompt("1", "code", ("Hello",)), Prompt("b", "x", ("One", "Two")))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "prompts.jsonl has no prompts"),
        ("\n\n", "has no prompts"),
        (f"{LINE}{{", "prompts.jsonl, line 2: not JSON"),
        (f"\n{LINE}[]", "line 3: not an object"),
        ('{"category": "code", "turns": ["Hello"]}', "line 1: there is no 'id'"),
        ('{"id": 1, "turns": ["Hello"]}', "no 'category'"),
        ('{"id": 1, "category": "code"}', "no 'turns'"),
        ('{"id": true, "category": "code", "turns": ["Hello"]}', "not True"),
        ('{"id": " ", "category": "code", "turns": ["Hello"]}', "an id is"),
        ('{"id": 1, "category": 2, "turns": ["Hello"]}', "not 2"),
        ('{"id": 1, "category": "code", "turns": "Hello"}', "turns are"),
        ('{"id": 1, "category": "code", "turns": []}', "turns are"),
        ('{"id": 1, "category": "code", "turns": ["Hello", " "]}', "turns are"),
        ('{"id": 1, "category": "code", "turns": ["\\ud800"]}', "surrogate"),
        ("[" * 100_000, "line 1"),
        (LINE * 2, "line 2: there is an id '1' before"),
    ],
)
def test_what_cannot_be_used_is_said_with_its_place(tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "prompts.jsonl"
    path.write_text(text)
    with pytest.raises(UsageError) as caught:
        read_prompts(path)
    assert str(path) in str(caught.value)
    assert said in str(caught.value)


def test_a_file_that_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="cannot read"):
        read_prompts(tmp_path / "none")
    path = tmp_path / "latin"
    path.write_bytes(b"caf\xe9")
    with pytest.raises(UsageError, match="not UTF-8"):
        read_prompts(path)
