"""Tiny models that the real llama.cpp loads, and their openers."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import Protocol

import pytest

from specdesk.engine.llama import LlamaLM
from specdesk.engine.load_options import LoadOptions
from specdesk.engine.loaded import LoadedPair
from specdesk.engine.session import Session
from specdesk.engine.stop import StopFlag
from specdesk.settings import EngineSettings
from tests.tiny import gguf_models

WriteModel = Callable[[gguf_models.TinyModel], Path]
N_CTX = 512
N_THREADS = 1
"""Passes this small only get slower with more, above all beside other processes."""


class OpenLM(Protocol):
    """Loads a model that is closed when the test ends."""

    def __call__(self, path: Path, *, n_ctx: int = N_CTX, stop: StopFlag | None = None) -> LlamaLM: ...


class OpenSession(Protocol):
    """The same for a pair."""

    def __call__(self, target: Path, draft: Path | None, *, n_ctx: int = N_CTX) -> Session: ...


class OpenEngine(Protocol):
    """The same for an engine, whose notices join the list."""

    def __call__(
        self,
        target: Path,
        draft: Path | None = None,
        *,
        n_ctx: int = N_CTX,
        n_threads: int | None = N_THREADS,
        n_gpu_layers: int | None = None,
        draft_n_gpu_layers: int | None = None,
        notices: list[str] | None = None,
        stop: StopFlag | None = None,
    ) -> LoadedPair: ...


@pytest.fixture
def write_model(tmp_path: Path) -> WriteModel:
    """Writes a model into a file of its own."""
    numbers = count()
    return lambda model: gguf_models.write(tmp_path / f"model{next(numbers)}.gguf", model)


@pytest.fixture
def open_lm() -> Iterator[OpenLM]:
    with ExitStack() as models:

        def opened(path: Path, *, n_ctx: int = N_CTX, stop: StopFlag | None = None) -> LlamaLM:
            return models.enter_context(LlamaLM(path, LoadOptions(n_ctx, N_THREADS, 0), stop or StopFlag()))

        yield opened


@pytest.fixture
def open_session() -> Iterator[OpenSession]:
    with ExitStack() as sessions:

        def opened(target: Path, draft: Path | None, *, n_ctx: int = N_CTX) -> Session:
            stop, options = StopFlag(), LoadOptions(n_ctx, N_THREADS, 0)
            lms = [LlamaLM(path, options, stop) for path in (target, draft) if path is not None]
            session = Session(lms[0], lms[1] if draft is not None else None, stop)
            sessions.callback(session.close)
            return session

        yield opened


@pytest.fixture
def open_engine() -> Iterator[OpenEngine]:
    with ExitStack() as engines:

        def opened(
            target: Path,
            draft: Path | None = None,
            *,
            n_ctx: int = N_CTX,
            n_threads: int | None = N_THREADS,
            n_gpu_layers: int | None = None,
            draft_n_gpu_layers: int | None = None,
            notices: list[str] | None = None,
            stop: StopFlag | None = None,
        ) -> LoadedPair:
            settings = EngineSettings(target, draft, n_ctx, n_threads, n_gpu_layers, draft_n_gpu_layers)
            said = notices if notices is not None else []
            return engines.enter_context(LoadedPair(settings, said.append, stop or StopFlag()))

        yield opened
