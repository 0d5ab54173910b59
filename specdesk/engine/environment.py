"""What ggml reads from the environment when it is loaded; imported before it. What the user has set stays."""

from __future__ import annotations

import os

from specdesk.engine.cores import most_threads

# ggml starts a debugger on abort unless told otherwise.
os.environ.setdefault("GGML_NO_BACKTRACE", "1")

# Between two operations ggml's threads wait for each other by spinning, for milliseconds. Beside another busy process
# the one that is waited for may need the very core the other spins on, and passes take many times as long. A short spin
# costs nothing measurable on the few cores it was measured on; what many would lose by it is not known.
if most_threads() <= 4 and "OMP_WAIT_POLICY" not in os.environ:
    os.environ.setdefault("GOMP_SPINCOUNT", "500")
