"""The `specdesk` command: registers the others, and turns errors into one line and an exit code."""

from __future__ import annotations

import signal
import sys
from types import FrameType
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from specdesk import __version__
from specdesk.cli.bench import bench
from specdesk.cli.chat import chat
from specdesk.cli.chats import chats_app
from specdesk.cli.console import give_up_stdout, mend_streams, say
from specdesk.cli.doctor import doctor
from specdesk.cli.download import download
from specdesk.cli.models_app import models_app
from specdesk.cli.pair import pair
from specdesk.cli.prove import prove
from specdesk.cli.run import run
from specdesk.cli.tune import tune
from specdesk.cli.usage_words import said_of
from specdesk.core.interrupted import Interrupted
from specdesk.errors import EXIT_INTERRUPTED, EngineDiedError, SpecdeskError, StorageError


def _version(wanted: bool) -> None:
    if wanted:
        print(f"specdesk {__version__}")  # noqa: T201
        raise typer.Exit


def _root(
    context: typer.Context,
    version: Annotated[  # noqa: ARG001 — its callback prints and exits
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> int | None:
    """Speculative decoding on your own machine: exact, and in plain sight. Without a command: the chat."""
    if context.invoked_subcommand is None:
        return chat()
    return None


class _Commands(TyperGroup):
    """Typer ends without a word at Ctrl-C; here it is Interrupted, which is said."""

    def invoke(self, ctx: Any) -> Any:
        try:
            return super().invoke(ctx)
        except KeyboardInterrupt:
            raise Interrupted from None


def build_app() -> typer.Typer:
    """The command line, for the shell and for tests."""
    app = typer.Typer(
        name="specdesk",
        cls=_Commands,
        add_completion=False,
        rich_markup_mode="markdown",
        pretty_exceptions_enable=False,
        context_settings={"help_option_names": ["-h", "--help"]},
    )
    app.callback(invoke_without_command=True)(_root)
    app.command()(run)
    app.command()(chat)
    app.add_typer(chats_app(), name="chats")
    app.command()(download)
    app.add_typer(models_app(), name="models")
    app.command()(pair)
    app.command()(prove)
    app.command()(bench)
    app.command()(tune)
    app.command()(doctor)
    return app


def exit_code() -> int:
    """Run the command; an expected error is one line on standard error, a bug keeps its traceback.

    SIGTERM unwinds like Ctrl-C, so that nothing half done stays behind.
    """
    signal.signal(signal.SIGTERM, _terminate)
    try:
        mend_streams()
        code = build_app()(prog_name="specdesk", standalone_mode=False) or 0
        sys.stdout.flush()
    except SpecdeskError as error:
        if isinstance(error, EngineDiedError):
            for line in error.log:
                say(f"llama.cpp: {line}")
        say(str(error))
        code = error.exit_code
    except typer.TyperException as error:
        say(f"{said_of(error)} (see --help)")
        code = error.exit_code
    except (KeyboardInterrupt, Interrupted, typer.Abort) as error:
        say(str(error) or "stopped")
        code = EXIT_INTERRUPTED
    except BrokenPipeError:
        code = give_up_stdout()
    except OSError as error:
        # What the operating system refuses is the machine's state, not a bug: a full disk, a closed stream.
        say(f"{error.filename}: {error.strerror}" if error.filename else f"cannot write: {error.strerror}")
        give_up_stdout()
        code = StorageError.exit_code
    return code


def _terminate(_signal: int, _frame: FrameType | None) -> None:
    raise SystemExit(128 + signal.SIGTERM)
