"""Where measurements are kept from one run to the next."""

from __future__ import annotations

from pathlib import Path

from specdesk.engine.profiles import Profiles


def test_a_record_that_cannot_take_its_place_leaves_no_part_behind(tmp_path: Path) -> None:
    notices: list[str] = []
    folder = tmp_path / "profiles"
    profiles = Profiles(folder, notices.append)
    profiles.put("costs", {"a": 1}, 1)
    (path,) = folder.iterdir()
    path.unlink()
    path.mkdir()
    profiles.put("costs", {"a": 1}, 1)
    assert list(folder.iterdir()) == [path]
    assert "cannot be kept" in notices[0]
