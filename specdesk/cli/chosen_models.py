"""From --pair, --target and --draft to two files on this disk."""

from __future__ import annotations

from pathlib import Path

from specdesk.cli.checks import shares
from specdesk.cli.options.engine import EngineChoice, EngineOptions
from specdesk.cli.options.models import Models
from specdesk.cli.text_files import text_of
from specdesk.core.names import DrafterName
from specdesk.errors import ModelError, UsageError
from specdesk.hub.here.chosen import Chosen, absent, of_pair, remembered
from specdesk.settings import EngineSettings, NativeLibrary, Placing


def engine_settings(
    chosen: Chosen,
    options: EngineOptions,
    *,
    lookahead: int | None,
    exact: bool,
    drafter: DrafterName = DrafterName.CASCADE,
    measure: bool = True,
    allow_plain: bool = False,
) -> EngineSettings:
    """What to load, and how."""
    return EngineSettings(
        chosen.target,
        chosen.draft,
        options.ctx,
        options.threads,
        options.gpu_layers,
        options.draft_gpu_layers,
        exact,
        lookahead != 0,
        measure,
        drafter is not DrafterName.SUFFIX,
        None if options.chat_template is None else text_of(options.chat_template),
        allow_plain,
        options.cache_type_k,
        options.cache_type_v,
        Placing(
            options.main_gpu, () if options.tensor_split is None else shares(options.tensor_split), options.load_mode
        ),
        None if options.engine is EngineChoice.AUTO else NativeLibrary(options.engine.value),
    )


def choose(models: Models, engine: EngineOptions) -> Chosen:
    """The files to load; a recommended pair that is absent is fetched first, unless --no-download.

    Raises: as `intended`; UsageError where `engine` asks for what this llama.cpp cannot do, before anything is fetched;
    NetworkError or StorageError from fetching.
    """
    from specdesk.hub.manifest import load_manifest

    chosen = intended(models)
    pair = absent(chosen, load_manifest())
    if pair is not None:
        # What fetches is loaded only where something is to be fetched: the network libraries take their time.
        from specdesk.cli.progress import shell_reporter
        from specdesk.engine.client import check_build
        from specdesk.hub.download.fetch import fetch_pair

        check_build(engine_settings(chosen, engine, lookahead=None, exact=False))
        with shell_reporter() as report:
            fetch_pair(pair, report)
    return chosen


def intended(models: Models) -> Chosen:
    """The files to load; those of a recommended pair may have to be fetched first, unless --no-download.

    Raises: UsageError for options that contradict each other or an unknown pair; ModelError for an absent pair that may
    not be fetched, or a split model of which files are missing; StorageError where the disk does not say.
    """
    if models.target is None:
        if models.draft is not None:
            raise UsageError("--draft needs --target", "or choose both with --pair")
        return _intended_pair(models.pair or "default", no_download=models.no_download)
    if models.pair is not None:
        raise UsageError("--pair and --target exclude each other", "a pair names its target and draft itself")
    return _whole(models.target, models.draft)


def _whole(target: Path, draft: Path | None) -> Chosen:
    """The files to load for those that were named. Raises ModelError for a split model of which files are missing."""
    from specdesk.hub.here.naming import file_meant
    from specdesk.hub.here.whole import whole

    return Chosen(None, whole(file_meant(target)), None if draft is None else whole(_draft_meant(draft)))


def _draft_meant(draft: Path) -> Path:
    from specdesk.hub.here.naming import file_meant

    try:
        return file_meant(draft)
    except ModelError:
        # A path to a file that is gone is told when it is loaded, where plain decoding may do instead.
        if draft.suffix.lower() != ".gguf" or draft == Path(draft.name):
            raise
        return draft


def intended_or_last(models: Models) -> tuple[Chosen, str]:
    """The same; where no option says which, what was chosen in the chat the last time, if that is still here.

    The text says why it is not, and is empty otherwise.
    """
    from specdesk.hub.manifest import load_manifest

    last = None
    if models == Models(no_download=models.no_download):
        try:
            last = remembered(load_manifest())
        except UsageError as error:
            return intended(models), error.message
    if last is None:
        return intended(models), ""
    gone = [path for path in (last.target, last.draft) if path is not None and not path.is_file()]
    if gone:
        return intended(models), f"the models chosen last time are not here any more: {gone[0]} is missing"
    try:
        # A recommended pair that is not complete is fetched.
        return (last if last.pair is not None else _whole(last.target, last.draft)), ""
    except ModelError as error:
        return intended(models), f"the models chosen last time are not all here: {error.message}"


def _intended_pair(name: str, *, no_download: bool) -> Chosen:
    from specdesk.hub.here.on_disk import pair_paths
    from specdesk.hub.manifest import load_manifest

    wanted = load_manifest().pair(name)
    if no_download:
        pair_paths(wanted)
    return of_pair(wanted)
