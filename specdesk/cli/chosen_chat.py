"""Which chat is meant on the command line."""

from __future__ import annotations

import difflib
from collections.abc import Iterable

from specdesk.errors import UsageError
from specdesk.store.chat_store import ChatStore
from specdesk.store.values import Chat

_MOST_NAMED = 5


def chosen_chat(store: ChatStore, wanted: str, *, deleted: bool = False) -> Chat:
    """The chat with that number, or else the one whose title is, or begins with, `wanted` in any case.

    Raises: UsageError where there is none, with the nearest ones, or where several titles begin so.
    """
    if not wanted.strip():
        raise UsageError("the name of a chat is empty", "give its number or the beginning of its title")
    chats = store.chats(deleted=deleted)
    if same_number := [chat for chat in chats if str(chat.id) == wanted]:
        return same_number[0]
    same = [chat for chat in chats if chat.title.lower() == wanted.lower()]
    begin = [chat for chat in chats if chat.title.lower().startswith(wanted.lower())]
    for found in (same, begin):
        if len(found) == 1:
            return found[0]
    if begin:
        raise UsageError(f'several titles begin with "{wanted}"', f"give a number: {_names(begin)}")
    if any(str(chat.id) == wanted for chat in store.chats(deleted=not deleted)):
        if deleted:
            raise UsageError(f"chat {wanted} is not deleted")
        raise UsageError(f"chat {wanted} was deleted", f"specdesk chats restore {wanted} brings it back")
    by_title = {chat.title.lower(): chat for chat in chats}
    near = difflib.get_close_matches(wanted.lower(), by_title, n=_MOST_NAMED, cutoff=0.4)
    hint = f"the nearest: {_names(by_title[title] for title in near)}" if near else "specdesk chats list shows them all"
    raise UsageError(f'there is no {"deleted " if deleted else ""}chat "{wanted}"', hint)


def _names(chats: Iterable[Chat]) -> str:
    names = [f'{chat.id} "{chat.title}"' for chat in chats]
    return ", ".join(names[:_MOST_NAMED]) + (", ..." if len(names) > _MOST_NAMED else "")
