"""Walking through earlier prompts, without a screen."""

from __future__ import annotations

from specdesk.tui.recall import Recall


def test_the_walk_goes_back_and_ends_at_the_draft() -> None:
    recall = Recall(["one", "two"])
    assert recall.older("draft") == "two"
    assert recall.older("two") == "one"
    assert recall.older("one") is None
    assert recall.newer("one") == "two"
    assert recall.newer("two") == "draft"
    assert recall.newer("draft") is None


def test_changes_are_kept_while_walking_and_change_no_earlier_prompt() -> None:
    recall = Recall(["one", "two"])
    recall.older("")
    assert recall.older("two, changed") == "one"
    assert recall.newer("one") == "two, changed"
    recall.add("two, changed")
    assert [recall.older(""), recall.older("two, changed"), recall.older("two")] == ["two, changed", "two", "one"]


def test_a_cleared_prompt_comes_back_cleared() -> None:
    recall = Recall(["one", "two"])
    recall.older("draft")
    assert recall.older("") == "one"
    assert recall.newer("one") == ""
    assert recall.newer("") == "draft"


def test_what_is_on_screen_already_is_no_step() -> None:
    recall = Recall(["one", "two", "two"])
    assert recall.older("two") == "one"
    recall.add("three")
    recall.add("three")
    assert recall.older("three") == "two"


def test_without_earlier_prompts_there_is_nowhere_to_go() -> None:
    recall = Recall()
    assert recall.older("draft") is None
    assert recall.newer("draft") is None
