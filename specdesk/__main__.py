"""The `specdesk` command, also as `python -m specdesk`."""

from __future__ import annotations

import signal
import sys


def main() -> None:
    """Run the command line. Ctrl-C while Python is still loading it ends the process without a traceback."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    from specdesk.cli.main import exit_code

    signal.signal(signal.SIGINT, signal.default_int_handler)
    sys.exit(exit_code())


if __name__ == "__main__":
    main()
