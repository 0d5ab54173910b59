"""Which llama-cpp-python is needed, and the command that installs it into the Python that runs."""

from __future__ import annotations

import shlex
import sys
from typing import Final

from specdesk.engine.gpus import Maker

LEAST_VERSION: Final = "0.3.36"
"""As in pyproject.toml."""

BUILD_OPTIONS: Final = {
    Maker.NVIDIA: "-DGGML_CUDA=on",
    Maker.APPLE: "-DGGML_METAL=on",
    Maker.AMD: "-DGGML_VULKAN=on",
    Maker.INTEL: "-DGGML_VULKAN=on",
}
"""What has llama.cpp compiled for a GPU of that maker."""


def install_command(cmake_args: str = "") -> str:
    """For sh, bash, zsh and fish: compiles llama.cpp anew, with these options, for the Python that runs this."""
    # Without its dependencies, which are here; and no wheel, neither a ready one nor pip's own of an earlier build.
    pip = f"{shlex.quote(sys.executable)} -m pip install --force-reinstall --no-deps --no-cache-dir"
    variable = f'CMAKE_ARGS="{cmake_args}" ' if cmake_args else ""
    return f"{variable}{pip} --no-binary llama-cpp-python 'llama-cpp-python>={LEAST_VERSION}'"
