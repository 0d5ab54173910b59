"""The visible conversation of a chat as Markdown, for reading."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any, Final

from specdesk.store.values import Chat, ChatMessage, Role, State

_FENCE: Final = re.compile(r" {0,3}(`{3,}|~{3,})(.*)")


def markdown_of(chat: Chat, conversation: Sequence[ChatMessage]) -> str:
    """The title, the system prompt and the turns. Texts stay as they are; a block of code left open is closed."""
    parts = [f"# {' '.join(chat.title.split())}"]
    if chat.system is not None:
        parts += ["System prompt:", "\n".join(f"> {line}".rstrip() for line in chat.system.splitlines())]
    for message in conversation:
        parts.append("## You" if message.role is Role.USER else f"## {_who(message.models)}")
        parts += filter(None, [_closed(message.text.strip("\n")), _ending(message)])
    return "\n\n".join(parts) + "\n"


def _who(models: dict[str, Any] | None) -> str:
    """The models of an answer, as far as they were named."""
    target, draft = (_name((models or {}).get(part)) for part in ("target", "draft"))
    return f"{target or 'Answer'}, drafted by {draft}" if draft else target or "Answer"


def _name(model: object) -> str | None:
    return (model.get("name") or model.get("file")) if isinstance(model, dict) else None


def _ending(message: ChatMessage) -> str | None:
    """What to say of an answer that is not whole."""
    match message.state:
        case State.COMPLETE:
            return None
        case State.WRITING:
            return "*Still being written.*"
        case State.STOPPED:
            return "*Stopped before its end.*"
        case State.FAILED:
            return f"*Failed: {message.error or 'no reason was kept'}*"


def _closed(text: str) -> str:
    """The text, with the block of code closed that would go on over what follows."""
    opened = ""
    for line in text.splitlines():
        found = _FENCE.fullmatch(line)
        if found is None:
            continue
        fence, rest = found.groups()
        if not opened:
            # With a backtick behind them, backticks open no block.
            opened = fence if fence[0] == "~" or "`" not in rest else ""
        elif fence.startswith(opened) and not rest.strip():
            opened = ""
    return f"{text}\n{opened}" if opened else text
