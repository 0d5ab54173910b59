"""A conversation as the text a model was trained on: its own chat template, rendered in a sandbox."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from jinja2 import TemplateError
from llama_cpp.llama_chat_format import Jinja2ChatFormatter

from specdesk.engine.message import Message
from specdesk.engine.time_limit import time_limit
from specdesk.errors import ModelError

_WAYS_ON: Final = "--chat-template FILE takes another one, --raw of specdesk run sends the prompt without any"


def render(template: str, messages: Sequence[Message], *, bos: str, eos: str, limit_s: float = 5.0) -> str:
    """The prompt text for the next assistant turn.

    llama-cpp-python's formatter runs templates in Jinja's immutable sandbox: a model file cannot run code through one.
    Raises ModelError if the template is broken, refuses the conversation or takes longer than `limit_s`.
    """
    try:
        with time_limit(limit_s):
            formatter = Jinja2ChatFormatter(template=template, bos_token=bos, eos_token=eos)
            return str(formatter(messages=[{"role": m.role, "content": m.content} for m in messages]).prompt)
    except Exception as error:  # foreign code: dividing by zero and endless recursion are within its reach
        # Its own refusals arrive as ValueError.
        words = str(error) if isinstance(error, TemplateError | ValueError | TimeoutError) else repr(error)
        raise ModelError(
            f"the model's chat template failed: {' '.join(words.split())}",
            _WAYS_ON,
        ) from error
