"""Writes other formats of a GGUF file, to measure how what they cost compares: for maintainers.

    python scripts/make_variants.py TARGET OUT_DIR

Makes OUT_DIR/NAME-BF16.gguf and OUT_DIR/NAME-Q8_0.gguf from the weights as they are in TARGET: what its own format has
lost is not in them. A file that is there already is left as it is. Ctrl-C leaves no part of one behind.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from specdesk.cli.interrupts import stopping
from specdesk.core.interrupted import Interrupted
from specdesk.engine.cores import best_threads
from specdesk.engine.stop import StopFlag
from specdesk.engine.tuning.quantize import Format, quantize
from specdesk.errors import EXIT_INTERRUPTED, SpecdeskError


def main() -> int:
    """Exit codes as specdesk's."""
    parser = argparse.ArgumentParser(description="Write a GGUF file as BF16 and as Q8_0.")
    parser.add_argument("target", type=Path, metavar="TARGET")
    parser.add_argument("out_dir", type=Path, metavar="OUT_DIR")
    asked = parser.parse_args()
    stop = StopFlag()
    try:
        with stopping(stop.set):
            for wanted in (Format.BF16, Format.Q8_0):
                path = asked.out_dir / f"{asked.target.stem}-{wanted}.gguf"
                if not path.exists():
                    quantize(asked.target, path, wanted, best_threads(), stop)
                print(path)  # noqa: T201
    except SpecdeskError as error:
        print(error, file=sys.stderr)  # noqa: T201
        return error.exit_code
    except Interrupted:
        return EXIT_INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
