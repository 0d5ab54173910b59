"""What tuning leaves behind for one pair: a record, and a file that it may name."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from specdesk.engine.gguf import check_gguf
from specdesk.engine.profiles import Profiles
from specdesk.engine.tuning.draft_files import DraftFiles
from specdesk.engine.tuning.tuned_records import TunedRecord, TunedRecords
from specdesk.errors import StorageError, UsageError
from specdesk.paths import profiles_dir
from specdesk.settings import EngineSettings


class Kept:
    """The record and the files of the pair of `settings`."""

    def __init__(self, settings: EngineSettings, notify: Callable[[str], None]) -> None:
        """Raises: UsageError without a draft; ModelError for a model that cannot be read."""
        if settings.draft is None:
            raise UsageError("without a draft there is nothing to tune", "name one with --draft")
        for path in (settings.target, settings.draft):
            check_gguf(path)
        self.draft = settings.draft
        self.files = DraftFiles(settings.draft)
        self._records = TunedRecords(settings.target, settings.draft, Profiles(profiles_dir(), notify))

    def put(self, record: TunedRecord) -> None:
        """The record in place of the one before, none if it changes nothing, and the file it names; others go.

        Raises StorageError if the disk refuses.
        """
        before, chosen = self._records.get(), record.tuned.draft
        if record.tuned:
            self._records.put(record)
            if self._records.get() != record:
                raise StorageError("what was found could not be kept: nothing was changed", "make room, and try again")
        else:
            self._records.remove()
        if chosen is not None:
            self.files.keep(Path(chosen.file))
        earlier = before.tuned.draft if before is not None else None
        if earlier is not None and (chosen is None or chosen.file != earlier.file):
            self.files.remove(Path(earlier.file))

    def remove(self) -> list[str]:
        """Forget and delete all; returns what was removed, in words. Raises StorageError if the disk refuses."""
        removed = ["the record of what is fastest"] if self._records.remove() else []
        return [*removed, *map(str, self.files.remove_all())]
