"""Loads a model with the native library that its options name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from specdesk.engine.load_options import LoadOptions
from specdesk.engine.native.ik.weights import IkWeights
from specdesk.engine.native.protocol import NativeWeights
from specdesk.engine.stop import StopFlag
from specdesk.engine.weights import Weights
from specdesk.settings import NativeLibrary


def load_weights(
    path: Path, options: LoadOptions, stop: StopFlag, progress: Callable[[float], None] = lambda _part: None
) -> NativeWeights:
    """Load, unless `stop` is set meanwhile; `progress` hears the part that is done.

    Raises: ModelError, with the library's own reason, for a file that is missing, broken or unsupported, and for a
    library that is not here or cannot do as the options say; Interrupted when `stop` is set.
    """
    if options.native is NativeLibrary.IK:
        return IkWeights(path, options, stop, progress)
    return Weights(path, options.n_gpu_layers, stop, repack=options.repack, progress=progress, placing=options.placing)
