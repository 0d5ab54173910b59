"""Small models to fetch, wheels to fetch them from, and a reporter that remembers."""

from __future__ import annotations

import hashlib
import zipfile
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from specdesk.hub.artifacts import Artifact, ModelFile, Pair, Shape, WheelPieces
from specdesk.hub.download.report import FetchPlan
from specdesk.hub.sources.source import SourceError

CONTENT = bytes(range(256)) * 40
"""A model's bytes, as far as a download cares."""


def artifact_of(
    content: bytes = CONTENT, name: str = "toy", licence: str = "MIT", wheels: WheelPieces | None = None
) -> Artifact:
    file = ModelFile(f"{name}.gguf", len(content), hashlib.sha256(content).hexdigest())
    return Artifact(name, f"owner/{name}", "main", licence, Shape(2, 1, 4, 10, 8, 16), (file,), wheels)


def pair_of(target: Artifact, draft: Artifact) -> Pair:
    return Pair("toy-pair", target, draft, "two toys")


def corrupted(content: bytes) -> bytes:
    """The same length, one bit wrong."""
    return content[:-1] + bytes([content[-1] ^ 1])


@dataclass
class Recorder:
    """A Reporter."""

    plans: list[FetchPlan] = field(default_factory=list)
    started: list[tuple[str, int]] = field(default_factory=list)
    kept: list[int] = field(default_factory=list)
    arrived: list[int] = field(default_factory=list)
    finished: int = 0
    notices: list[str] = field(default_factory=list)

    def begin(self, plan: FetchPlan) -> None:
        self.plans.append(plan)

    def start(self, file: str, total_bytes: int) -> None:
        self.started.append((file, total_bytes))

    def keep(self, n_bytes: int) -> None:
        self.kept.append(n_bytes)

    def advance(self, n_bytes: int) -> None:
        self.arrived.append(n_bytes)

    def finish(self, *, hashed: bool = True) -> None:
        self.finished += 1

    def notice(self, text: str) -> None:
        self.notices.append(text)


@dataclass
class GivenSource:
    """A source that delivers these chunks, of the file from its beginning, and then fails as told."""

    given: Sequence[bytes]
    name: str = "given"
    error: BaseException | None = None
    starts: list[int] = field(default_factory=list)
    """From which byte on it was asked, each time."""

    @property
    def asked(self) -> int:
        return len(self.starts)

    def chunks(self, file: ModelFile, start: int) -> Generator[bytes]:
        self.starts.append(start)
        at = 0
        for chunk in self.given:
            at += len(chunk)
            if at > start:
                yield chunk[-(at - max(start, at - len(chunk))) :]
        if self.error:
            raise self.error


def dead_source(name: str) -> GivenSource:
    return GivenSource([], name, SourceError(f"{name} is down"))


def build_wheel(
    directory: Path, name: str, version: str, members: dict[str, bytes], compression: int = zipfile.ZIP_DEFLATED
) -> Path:
    """A wheel pip accepts; to import it is to end the process."""
    package = name.replace("-", "_")
    info = f"{package}-{version}.dist-info"
    path = directory / f"{package}-{version}-py3-none-any.whl"
    with zipfile.ZipFile(path, "w", compression) as wheel:
        wheel.writestr(f"{package}/__init__.py", "raise SystemExit('imported')\n")
        for member, content in members.items():
            wheel.writestr(f"{package}/{member}", content)
        wheel.writestr(f"{info}/METADATA", f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
        wheel.writestr(f"{info}/WHEEL", "Wheel-Version: 1.0\nRoot-Is-Purelib: true\nTag: py3-none-any\n")
        wheel.writestr(f"{info}/RECORD", "")
    return path


def build_pieces(directory: Path, content: bytes, count: int) -> WheelPieces:
    """The content cut into that many wheels."""
    step = -(-len(content) // count)
    for n in range(1, count + 1):
        piece = content[(n - 1) * step : n * step]
        build_wheel(directory, f"toy-part{n}", "1.0", {f"data/part{n:02}.bin": piece})
    return WheelPieces("toy-part{n}", count, "1.0", "*/data/part*.bin")
