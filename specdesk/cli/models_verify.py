"""`specdesk models verify`: are the files of this disk what they should be?"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from specdesk.cli.checks import is_text
from specdesk.cli.console import say, stderr_console
from specdesk.cli.tables import print_line
from specdesk.errors import ModelError, UsageError

if TYPE_CHECKING:
    from specdesk.hub.here.checking import Checked
    from specdesk.hub.here.known_hashes import Expected
    from specdesk.hub.manifest import Manifest


def verify(
    name: Annotated[
        str | None,
        typer.Argument(
            metavar="NAME|FILE", callback=is_text, help="A pair, a model or a file. [default: all on this disk]"
        ),
    ] = None,
    as_json: Annotated[bool, typer.Option("--json", help="Print JSON instead of text.")] = False,
) -> int:
    """Read model files again and compare their sha256 with what is known of them.

    Known are recommended models, other downloads where a sha256 was published, what Ollama or the Hugging Face cache
    keeps, and downloads by the hub's library.

    Exit codes: 0 nothing is damaged, 2 usage, also where nothing is known of what was named, 3 damaged.
    """
    from specdesk.hub.here.checking import Verdict
    from specdesk.hub.here.known_hashes import expected_of
    from specdesk.hub.manifest import load_manifest

    manifest = load_manifest()
    wanted = [(path, expected_of(path, manifest)) for path in _files(name, manifest)]
    checked = _checked(wanted, quiet=as_json)
    if as_json:
        sys.stdout.write(json.dumps([_record(one) for one in checked], allow_nan=False) + "\n")
    _say_summary(checked)
    verdicts = [one.verdict for one in checked]
    if Verdict.DAMAGED in verdicts:
        return ModelError.exit_code
    return UsageError.exit_code if name is not None and Verdict.OK not in verdicts else 0


def _say_summary(checked: Sequence[Checked]) -> None:
    """How many are what, and what repairs each that is damaged."""
    from specdesk.hub.here.checking import Verdict

    if not checked:
        say("there are no model files on this disk")
        return
    counts = {verdict: sum(one.verdict is verdict for one in checked) for verdict in Verdict}
    said = ", ".join(f"{n} {verdict}" for verdict, n in counts.items() if n)
    if n := counts[Verdict.UNKNOWN]:
        said += f" (nobody says what {'its' if n == 1 else 'their'} sha256 should be)"
    say(f"{len(checked)} file{'' if len(checked) == 1 else 's'}: {said}")
    for one in checked:
        if one.verdict is Verdict.DAMAGED and one.expected is not None:
            say(f"to repair {one.path.name}: {one.expected.mend}")


def _files(name: str | None, manifest: Manifest) -> Sequence[Path]:
    """The files that are meant. Raises UsageError where the name means nothing here."""
    from specdesk.hub.here.local_models import library_here
    from specdesk.hub.here.naming import named, place_of_reference
    from specdesk.hub.here.on_disk import file_path

    pair = None if name is None else manifest.find(name)
    if pair is not None:
        places = [file_path(artifact, file) for artifact in pair.artifacts for file in artifact.files]
        here = [path for path in places if path.exists()]
        if not here:
            raise UsageError(f"nothing of the pair {pair.name} is on this disk", f"specdesk download {pair.name}")
        for path in places:
            if path not in here:
                say(f"not here: {path}")
        return here
    if name is not None and Path(name).is_file():
        return [Path(name)]
    place = None if name is None else place_of_reference(name)
    if place is not None and not place.exists():
        raise ModelError(f"{name} is not on this disk", f"specdesk download {name}")
    models = list(library_here().models())
    if name is not None:
        return named(models, name if place is None else str(place)).files
    return [path for model in models for path in model.files if path.is_file()]


def _checked(wanted: Sequence[tuple[Path, Expected | None]], *, quiet: bool) -> list[Checked]:
    """Check them one after the other; each is printed as soon as it is known."""
    checked = []
    for path, expected in wanted:
        checked.append(_with_bar(path, expected))
        if not quiet:
            _print(checked[-1])
    return checked


def _with_bar(path: Path, expected: Expected | None) -> Checked:
    """Check one; on a terminal a bar shows how far that is, and is gone afterwards."""
    from rich.progress import BarColumn, Progress, TimeRemainingColumn, TransferSpeedColumn

    from specdesk.cli.progress_columns import BytesColumn, NameColumn, PercentColumn
    from specdesk.hub.here.checking import check_file

    console = stderr_console()
    if expected is None or not console.is_terminal:
        return check_file(path, expected, lambda _n_bytes: None)
    columns = (BarColumn(), PercentColumn(), BytesColumn(), TransferSpeedColumn(), TimeRemainingColumn())
    with Progress(NameColumn(console), *columns, console=console, transient=True) as progress:
        task = progress.add_task(path.name, total=path.stat().st_size if path.exists() else 0)
        return check_file(path, expected, partial(progress.advance, task))


def _print(one: Checked) -> None:
    what = f": {one.reason}" if one.reason else ""
    print_line(f"{one.verdict:9}  {one.path}{what}", hang=11)
    sys.stdout.flush()


def _record(one: Checked) -> dict[str, Any]:
    expected = one.expected
    return {
        "path": str(one.path),
        "verdict": one.verdict,
        "sha256": None if expected is None else expected.sha256,
        "source": None if expected is None else expected.source,
        "reason": one.reason or None,
        "mend": expected.mend if expected is not None and one.reason else None,
    }
