"""`specdesk chats`: what was said is found again, and taken out and brought in."""

from __future__ import annotations

import sys
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from specdesk.cli.checks import is_text, within
from specdesk.cli.console import print_text, say
from specdesk.errors import UsageError

if TYPE_CHECKING:
    from specdesk.store.chat_store import ChatStore

_DEFAULT_HITS = 20

ChatName = Annotated[
    str, typer.Argument(metavar="CHAT", callback=is_text, help="A number, or the beginning of a title.")
]
AsJson = Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")]


class Format(StrEnum):
    """The values of --format."""

    MD = "md"
    JSON = "json"


def chats_app() -> typer.Typer:
    """The commands on chats."""
    app = typer.Typer()
    app.callback(invoke_without_command=True)(_root)
    for name, command in (
        ("list", list_),
        ("search", search),
        ("show", show),
        ("export", export),
        ("import", import_),
        ("rename", rename),
        ("delete", delete),
        ("restore", restore),
    ):
        app.command(name)(command)
    return app


def _root(context: typer.Context) -> None:
    """List, search, read, export, import, rename and delete chats. Without a command: the list.

    Exit codes: 0 done, also where there is nothing to show, 2 usage, 5 storage.
    """
    if context.invoked_subcommand is None:
        list_()


def list_(
    deleted: Annotated[bool, typer.Option("--deleted", help="Those that were deleted and can be restored.")] = False,
    as_json: AsJson = False,
) -> None:
    """List the chats, the one used last first: number, when, messages, title."""
    from specdesk.cli.chats_output import print_json, print_list

    with _store() as store:
        found = store.chats(deleted=deleted)
    if as_json:
        print_json(found)
    elif found:
        print_list(found)
    if not found:
        say("no chat was deleted" if deleted else "there are no chats yet")


def search(
    text: Annotated[
        str,
        typer.Argument(metavar="TEXT", callback=is_text, help="What to look for; behind -- if it begins with a dash."),
    ],
    limit: Annotated[
        int, typer.Option("-n", "--limit", metavar="N", callback=within(1, 2**31), help="At most so many places.")
    ] = _DEFAULT_HITS,
    as_json: AsJson = False,
) -> None:
    """Find TEXT in titles and messages, in any case and any script. Nothing in it has a special meaning.

    Titles come first, then messages, the newest first, whatever branch they are in.
    """
    from specdesk.cli.chats_output import print_hits, print_json

    with _store() as store:
        found = store.search(text, limit)
    if as_json:
        print_json(found)
    else:
        print_hits(found)
    if not found:
        say("nothing was found")
    elif len(found) == limit:
        say(f"the first {limit} places; more with -n")


def show(chat: ChatName, as_json: AsJson = False) -> None:
    """Print a chat as Markdown, as it is shown: of branches the one that was looked at last."""
    from specdesk.cli.chats_output import conversation_record, print_json
    from specdesk.cli.chosen_chat import chosen_chat
    from specdesk.store.markdown import markdown_of

    with _store() as store:
        found = chosen_chat(store, chat)
        conversation = store.conversation(found.id)
    if as_json:
        print_json(conversation_record(found, conversation))
    else:
        print_text(markdown_of(found, conversation))


def export(
    chat: ChatName,
    format_: Annotated[
        Format | None,
        typer.Option(
            "--format",
            help="md is the shown conversation, for reading; json is everything, for tools and for import. "
            "[default: json for a FILE whose name ends so, else md]",
        ),
    ] = None,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", metavar="FILE", help="Write to FILE, not to standard output.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Overwrite FILE if it is there.")] = False,
) -> None:
    """Write a chat as Markdown or JSON."""
    from specdesk.cli.chosen_chat import chosen_chat
    from specdesk.store.exchange import exported, wants_json, write_file

    by_name = Format.JSON if output is not None and wants_json(output) else Format.MD
    with _store() as store:
        taken = exported(store, chosen_chat(store, chat), as_json=(format_ or by_name) is Format.JSON)
    if output is None:
        print_text(taken.text)
    else:
        try:
            write_file(output, taken.text, overwrite=force)
        except FileExistsError as error:
            raise UsageError(f"{output} is there already", "--force overwrites it") from error
    if taken.n_left_out:
        say(f"messages of other branches, left out: {taken.n_left_out}; --format json has them")


def import_(
    file: Annotated[
        Path, typer.Argument(metavar="FILE", help="What export --format json wrote; - reads standard input.")
    ],
) -> None:
    """Keep a chat that was exported as JSON, with branches, settings and traces. It is a new chat every time."""
    from specdesk.store.exchange import bring_in, read_file

    data = read_file(file, sys.stdin.buffer)
    with _store() as store:
        imported = bring_in(store, str(file), data)
    kept, twins = imported.chat, imported.twins
    print_text(f"{kept.id}\n")
    beside = f", beside chat {', '.join(map(str, twins))}, which began at the same moment" if twins else ""
    say(f"imported as chat {kept.id}{beside}: {kept.title}")


def rename(
    chat: ChatName,
    title: Annotated[str, typer.Argument(metavar="TITLE", callback=is_text, help="The new title.")],
) -> None:
    """Give a chat another title."""
    from specdesk.cli.chosen_chat import chosen_chat

    if not title.strip():
        raise UsageError("the title is empty")
    with _store() as store:
        found = chosen_chat(store, chat)
        store.rename(found.id, title)
    say(f"chat {found.id} is now called: {title}")


def delete(chat: ChatName) -> None:
    """Delete a chat. It can be restored for 30 days; what was deleted before is then removed for good, at a delete."""
    from specdesk.cli.chosen_chat import chosen_chat
    from specdesk.store.chat_store import KEPT_DAYS

    with _store() as store:
        found = chosen_chat(store, chat)
        store.delete(found.id)
        purged = store.purge(KEPT_DAYS)
    say(f"deleted chat {found.id}: {found.title}; specdesk chats restore {found.id} brings it back")
    if purged:
        say(f"deleted more than {KEPT_DAYS} days ago, now removed for good: {purged}")


def restore(chat: ChatName) -> None:
    """Bring a deleted chat back; list --deleted shows which there are."""
    from specdesk.cli.chosen_chat import chosen_chat

    with _store() as store:
        found = chosen_chat(store, chat, deleted=True)
        store.restore(found.id)
    say(f"restored chat {found.id}: {found.title}")


def _store() -> ChatStore:
    # Loaded here, so that `specdesk --help` does not wait for it.
    from specdesk.store.chat_store import ChatStore

    return ChatStore.open(say)
