"""A fetch that is told to stop does so at once, whatever it waits for, and leaves nothing running."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Generator, Sequence
from pathlib import Path

import psutil
import pytest
from filelock import FileLock

from specdesk.core.interrupted import Interrupted
from specdesk.hub.artifacts import Artifact, ModelFile, WheelPieces
from specdesk.hub.download.fetch import SourcesOf, fetch
from specdesk.hub.here import on_disk
from specdesk.hub.sources.hub import HubSource
from specdesk.hub.sources.source import FileSource
from specdesk.hub.sources.wheels import WheelSource
from tests.hub.samples import CONTENT, GivenSource, Recorder, artifact_of
from tests.hub.server import HubServer

SOON_S = 0.5
PATIENCE_S = 20


def place() -> Path:
    artifact = artifact_of()
    return on_disk.file_path(artifact, artifact.files[0])


def only(source: FileSource) -> SourcesOf:
    def sources_of(artifact: Artifact) -> Sequence[FileSource]:
        return (source,)

    return sources_of


def stopped_when(waits: Callable[[], bool], fetching: Callable[[threading.Event], None]) -> float:
    """How long `fetching` goes on after it was stopped, which happens when it waits."""
    stop, raised = threading.Event(), threading.Event()

    def run() -> None:
        try:
            fetching(stop)
        except Interrupted:
            raised.set()

    thread = threading.Thread(target=run)
    thread.start()
    deadline_s = time.monotonic() + PATIENCE_S
    while not waits():
        assert time.monotonic() < deadline_s, "it never got there"
    stop.set()
    stopped_s = time.monotonic()
    thread.join(PATIENCE_S)
    assert raised.is_set()
    return time.monotonic() - stopped_s


def test_while_the_hub_sends_nothing(hub: HubServer) -> None:
    hub.files["owner/toy/toy.gguf"] = CONTENT
    hub.sent_bytes, hub.stalls = 100, True
    report = Recorder()

    def fetching(stop: threading.Event) -> None:
        fetch(
            artifact_of(),
            report,
            sources_of=lambda artifact: (HubSource(artifact, endpoint=hub.url, stop=stop),),
            stop=stop,
        )

    assert stopped_when(lambda: sum(report.arrived) == 100, fetching) < SOON_S
    assert place().with_name("toy.gguf.part").stat().st_size == 100
    assert not place().exists()


def test_while_the_hub_does_not_answer(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    asked = threading.Event()

    def never(*args: object, **kwargs: object) -> None:
        asked.set()
        hub.stay_silent()
        raise OSError("too late to matter")

    monkeypatch.setattr("socket.getaddrinfo", never)

    def fetching(stop: threading.Event) -> None:
        fetch(
            artifact_of(),
            Recorder(),
            sources_of=lambda artifact: (HubSource(artifact, endpoint=hub.url, stop=stop),),
            stop=stop,
        )

    assert stopped_when(asked.is_set, fetching) < SOON_S


def test_while_pip_runs_which_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    python, started = tmp_path / "python", tmp_path / "started"
    python.write_text(f"#!/bin/sh\necho $$ > {started}.part\nmv {started}.part {started}\nexec sleep {PATIENCE_S}\n")
    python.chmod(0o755)
    monkeypatch.setattr("sys.executable", str(python))
    pieces = WheelPieces("toy-part{n}", 1, "1.0", "*")

    def fetching(stop: threading.Event) -> None:
        fetch(artifact_of(), Recorder(), sources_of=only(WheelSource(pieces, place().parent, stop)), stop=stop)

    assert stopped_when(started.exists, fetching) < SOON_S
    assert not psutil.pid_exists(int(started.read_text()))
    assert not place().parent.exists(), "nothing has come"


def test_while_another_process_fetches_the_file() -> None:
    place().parent.mkdir(parents=True)
    source, report = GivenSource([CONTENT]), Recorder()

    def fetching(stop: threading.Event) -> None:
        fetch(artifact_of(), report, sources_of=only(source), stop=stop)

    with FileLock(place().with_name(".toy.gguf.lock")):
        assert stopped_when(lambda: bool(report.notices), fetching) < SOON_S
    assert source.asked == 0


def test_between_two_chunks() -> None:
    stop = threading.Event()

    class Telling:
        name = "telling"

        def chunks(self, file: ModelFile, start: int) -> Generator[bytes]:
            yield CONTENT[:100]
            stop.set()
            yield CONTENT[100:]

    with pytest.raises(Interrupted):
        fetch(artifact_of(), Recorder(), sources_of=only(Telling()), stop=stop)
    assert place().with_name("toy.gguf.part").read_bytes() == CONTENT[:100]
