"""The pairs specdesk recommends, read strictly from models.toml."""

from __future__ import annotations

import difflib
import functools
import re
import tomllib
from dataclasses import dataclass, fields
from importlib import resources

from specdesk.errors import StorageError, UsageError
from specdesk.hub.artifacts import Artifact, ModelFile, Pair, Shape, WheelPieces
from specdesk.hub.hashing import is_sha256
from specdesk.hub.strict_table import StrictTable

DEFAULT_ALIAS = "default"
"""The name under which the manifest's default pair can always be asked for."""

_SAFE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


@dataclass(frozen=True, slots=True)
class Manifest:
    """Everything models.toml says."""

    default: str
    artifacts: tuple[Artifact, ...]
    pairs: tuple[Pair, ...]

    def pair(self, name: str) -> Pair:
        """The pair of that name, whatever its case; `default` is always one.

        Raises: UsageError with the nearest name, and where all are listed.
        """
        if (found := self.find(name)) is not None:
            return found
        names = [pair.name for pair in self.pairs]
        near = difflib.get_close_matches(name.lower(), names, n=1, cutoff=0.4)
        guess = f'; the nearest is "{near[0]}"' if near else ""
        raise UsageError(f'unknown pair "{name}"{guess}', "specdesk download --list names all")

    def find(self, name: str) -> Pair | None:
        """The same; None where no pair is called so."""
        wanted = self.default if name.lower() == DEFAULT_ALIAS else name
        return next((pair for pair in self.pairs if pair.name.lower() == wanted.lower()), None)


@functools.cache
def load_manifest() -> Manifest:
    """The manifest that comes with specdesk. Raises: StorageError where it is damaged."""
    return parse_manifest(resources.files("specdesk").joinpath("models.toml").read_text(encoding="utf-8"))


def parse_manifest(text: str) -> Manifest:
    """A manifest from TOML.

    Raises: StorageError that names the place: a key missing, unknown or of the wrong type; a sha256 that is
    none; a name that could leave its directory; a name used twice or leading nowhere.
    """
    try:
        root = StrictTable("models.toml", tomllib.loads(text))
    except tomllib.TOMLDecodeError as error:
        raise StorageError(f"models.toml is not TOML: {error}") from error
    default = root.take("default", str)
    artifacts = tuple(_artifact(table) for table in root.tables("artifact", named_by="name"))
    _refuse_twice(root, "artifact", [artifact.name for artifact in artifacts])
    _refuse_twice(root, "file", [f"{a.repo}/{file.path}" for a in artifacts for file in a.files])
    by_name = {artifact.name: artifact for artifact in artifacts}
    pairs = tuple(_pair(table, by_name) for table in root.tables("pair", named_by="name"))
    _refuse_twice(root, "pair", [pair.name for pair in pairs])
    root.end()
    if default not in {pair.name for pair in pairs}:
        raise root.error(f'default names no pair: "{default}"')
    return Manifest(default, artifacts, pairs)


def _artifact(table: StrictTable) -> Artifact:
    artifact = Artifact(
        name=table.take("name", str),
        repo=_safe_path(table, "repo", parts=2),
        revision=table.take("revision", str),
        licence=table.take("licence", str),
        shape=_shape(table.table("shape")),
        files=tuple(_file(row) for row in table.tables("files", named_by="path")),
        wheels=_wheels(table.table("wheels")) if "wheels" in table else None,
    )
    table.end()
    if artifact.wheels and len(artifact.files) != 1:
        raise table.error("wheels hold one file, and this artifact has several")
    return artifact


def _shape(table: StrictTable) -> Shape:
    shape = Shape(*(table.take(field.name, int) for field in fields(Shape)))
    table.end()
    return shape


def _file(table: StrictTable) -> ModelFile:
    file = ModelFile(_safe_path(table, "path", parts=1), table.take("bytes", int), table.take("sha256", str))
    table.end()
    if file.sha256 is None or not is_sha256(file.sha256):
        raise table.error(f"sha256 must be 64 lowercase hexadecimal digits, not {file.sha256!r}")
    return file


def _wheels(table: StrictTable) -> WheelPieces:
    pieces = WheelPieces(
        name=table.take("name", str),
        count=table.take("count", int),
        version=table.take("version", str),
        member=table.take("member", str),
    )
    table.end()
    if "{n}" not in pieces.name or not _SAFE_NAME.fullmatch(pieces.name.replace("{n}", "1")):
        raise table.error(f"name must be a package name with {{n}} in it, not {pieces.name!r}")
    return pieces


def _pair(table: StrictTable, artifacts: dict[str, Artifact]) -> Pair:
    name, summary = table.take("name", str), table.take("summary", str)
    ends = [table.take(role, str) for role in ("target", "draft")]
    table.end()
    for end in ends:
        if end not in artifacts:
            raise table.error(f'no artifact is called "{end}"')
    return Pair(name, artifacts[ends[0]], artifacts[ends[1]], summary)


def _safe_path(table: StrictTable, key: str, *, parts: int) -> str:
    """A repository or file name that stays inside the models directory on every system."""
    path = table.take(key, str)
    names = path.split("/")
    if len(names) != parts or not all(_SAFE_NAME.fullmatch(name) for name in names):
        raise table.error(f"{key} must be {parts} plain name(s), not {path!r}")
    return path


def _refuse_twice(table: StrictTable, what: str, names: list[str]) -> None:
    if twice := sorted({name for name in names if names.count(name) > 1}):
        raise table.error(f"{what} {twice[0]} is there twice")
