"""What may be typed behind `specdesk download`, beside the name of a pair."""

from __future__ import annotations

from pathlib import Path

import pytest

from specdesk.errors import UsageError
from specdesk.hub.reference import HubReference, UrlReference, is_reference, parse_reference

ENDPOINT = "https://hub.example"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("hf:owner/repo/x.gguf", HubReference("owner/repo", "x.gguf", None)),
        ("hf:owner/repo/q4/x.GGUF@refs/pr/1", HubReference("owner/repo", "q4/x.GGUF", "refs/pr/1")),
        ("hf:owner/repo/a@b.gguf@v1", HubReference("owner/repo", "a@b.gguf", "v1")),
        ("hf:owner/repo", HubReference("owner/repo", "", None)),
        ("hf:owner/repo@v1", HubReference("owner/repo", "", "v1")),
        ("hf:owner/repo/", HubReference("owner/repo", "", None)),
        (f"{ENDPOINT}/owner/repo", HubReference("owner/repo", "", None)),
        (f"{ENDPOINT}/owner/repo/tree/main", HubReference("owner/repo", "", None)),
        (f"{ENDPOINT}/owner/repo/tree/v1/", HubReference("owner/repo", "", "v1")),
        (f"{ENDPOINT}/owner/repo/resolve/main/x.gguf?download=true", HubReference("owner/repo", "x.gguf", None)),
        (f"{ENDPOINT}/owner/repo/blob/v1/q4/x.gguf", HubReference("owner/repo", "q4/x.gguf", "v1")),
        ("https://files.example/a/x.gguf", UrlReference("https://files.example/a/x.gguf")),
    ],
)
def test_what_is_understood(text: str, expected: object) -> None:
    assert is_reference(text)
    assert parse_reference(text, ENDPOINT) == expected


@pytest.mark.parametrize(
    "text",
    [
        "hf:",
        "hf:owner",
        "hf:owner/repo/readme.md",
        "hf:owner/repo@",
        "hf:../repo/x.gguf",
        "hf:owner/../x.gguf",
        "hf:owner/repo/../../x.gguf",
        "hf:owner/repo//tmp/x.gguf",
        "hf:owner/repo/C:\\x.gguf",
        "hf:owner/repo/a\\..\\..\\x.gguf",
        "https://",
        "https:///x.gguf",
        "https://[half/x.gguf",
        "https://files.example:port/x.gguf",
        "https://files.example/",
        "https://files.example/page.html",
        "https://files.example/../x.gguf",
        "https://files.example/a/%2e%2e/%2e%2e/%2e%2e/x.gguf",
        "https://files.example/a%5c..%5cx.gguf",
    ],
)
def test_what_is_refused(text: str, tmp_path: Path) -> None:
    with pytest.raises(UsageError) as caught:
        parse_reference(text, ENDPOINT)
    assert "hf:OWNER/REPO/FILE.gguf[@REVISION]" in caught.value.hint


def test_the_name_of_a_pair_is_none() -> None:
    assert not is_reference("qwen2.5-coder-1.5b")


def test_secrets_of_an_address_are_not_shown() -> None:
    secret = "https://me:password@files.example:8443/a/x.gguf?signature=secret#fragment"
    reference = parse_reference(secret, ENDPOINT)
    assert str(reference) == "https://files.example:8443/a/x.gguf"
    assert reference.places()[0].parts[-3:] == ("files.example_8443", "a", "x.gguf")
    with pytest.raises(UsageError) as caught:
        parse_reference(secret.replace(".gguf", ".html"), ENDPOINT)
    assert "password" not in str(caught.value)
    assert "secret" not in str(caught.value)
    with pytest.raises(UsageError) as caught:
        parse_reference(secret.replace("8443", "port"), ENDPOINT)
    assert "password" not in str(caught.value)


def test_places_are_by_repository_or_host(home: Path) -> None:
    assert HubReference("owner/repo", "q/x-00002-of-00002.gguf", None).places() == (
        home / "models" / "owner" / "repo" / "q" / "x-00001-of-00002.gguf",
        home / "models" / "owner" / "repo" / "q" / "x-00002-of-00002.gguf",
    )
    assert UrlReference("https://files.example/a/x.gguf").places() == (
        home / "models" / "files.example" / "a" / "x.gguf",
    )


def test_the_parts_of_a_split_model_at_an_address_keep_what_signs_it() -> None:
    parts = UrlReference("https://files.example/x-00001-of-00002.gguf?key=1").siblings()
    assert [part.url for part in parts] == [
        "https://files.example/x-00001-of-00002.gguf?key=1",
        "https://files.example/x-00002-of-00002.gguf?key=1",
    ]
