"""Logits that are no numbers are the fault of the model that made them, not a bug of ours."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from specdesk.core.law import UnusableDraftError
from specdesk.errors import GenerationError

_DAMAGED: Final = "the file may be damaged, or too coarsely quantized"


@contextmanager
def named_at_fault(target: Path, draft: Path | None) -> Iterator[None]:
    """Raises GenerationError, naming the model's file, where logits cannot be used; other errors pass."""
    try:
        yield
    except UnusableDraftError as error:
        name = "the draft" if draft is None else draft.name
        raise GenerationError(f"{name}: {error}", f"{_DAMAGED}; -k 0 decodes without it") from error
    except FloatingPointError as error:
        raise GenerationError(f"{target.name}: {error}", _DAMAGED) from error
