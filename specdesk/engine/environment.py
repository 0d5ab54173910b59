"""What ggml reads from the environment when it is loaded; imported before it. What the user has set stays."""

from __future__ import annotations

import os
from typing import Final

from specdesk.engine.cores import most_threads

# ggml starts a debugger on abort unless told otherwise.
_wanted = {"GGML_NO_BACKTRACE": "1"}

# Between two operations ggml's threads wait for each other by spinning, for milliseconds. Beside another busy process
# the one that is waited for may need the very core the other spins on, and passes take many times as long. A short spin
# costs nothing measurable on the few cores it was measured on; what many would lose by it is not known.
if most_threads() <= 4 and "OMP_WAIT_POLICY" not in os.environ:
    _wanted["GOMP_SPINCOUNT"] = "500"

ADDED: Final = frozenset(_wanted) - frozenset(os.environ)
"""The variables that are ours: a program of another's that we start would run without them."""

os.environ.update({name: _wanted[name] for name in ADDED})
