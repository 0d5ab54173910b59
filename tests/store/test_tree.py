"""The branches of a chat."""

from __future__ import annotations

import pytest

from specdesk.store.tree import Tree

#   1 - 2 - 3 - 6
#   |    \- 4
#   5
TREE = Tree([(1, None), (2, 1), (3, 2), (4, 2), (5, None), (6, 3)])


def test_a_message_follows_one_before_it() -> None:
    for messages in ([(1, 2), (2, None)], [(1, 2), (2, 1)], [(1, 1)], [(1, None), (2, 7)]):
        with pytest.raises(ValueError, match="which is not before it"):
            Tree(messages)


def test_siblings() -> None:
    assert [TREE.siblings(message) for message in (1, 5, 2, 3, 4)] == [(1, 5), (1, 5), (2,), (3, 4), (3, 4)]


def test_the_way_to_a_message() -> None:
    assert (TREE.path_to(None), TREE.path_to(5), TREE.path_to(6)) == ((), (5,), (1, 2, 3, 6))
    with pytest.raises(ValueError, match="there is no message 7"):
        TREE.path_to(7)


def test_the_newest_end() -> None:
    assert [TREE.newest_leaf(message) for message in (1, 3, 5)] == [4, 6, 5]
    assert [TREE.newest_leaf(1, without) for without in ([4], [4, 6], [3, 4], [2])] == [6, 3, 2, 1]
