from __future__ import annotations

import pytest

from specdesk.hub.sources.offline import is_offline


@pytest.mark.parametrize(("value", "offline"), [("1", True), ("yes", True), ("0", False), (None, False)])
@pytest.mark.parametrize("endpoint", ["http://[::1", "foo"])
def test_an_endpoint_that_is_no_address_does_not_keep_it_from_being_asked(
    monkeypatch: pytest.MonkeyPatch, endpoint: str, value: str | None, offline: bool
) -> None:
    monkeypatch.setenv("HF_ENDPOINT", endpoint)
    if value is not None:
        monkeypatch.setenv("HF_HUB_OFFLINE", value)
    assert is_offline() is offline
