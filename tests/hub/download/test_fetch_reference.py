"""Files that models.toml does not know: of the hub, whose API names size and sha256, and at plain addresses."""

from __future__ import annotations

import hashlib
import os
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from huggingface_hub import constants

from specdesk.core.interrupted import Interrupted
from specdesk.errors import NetworkError, StorageError
from specdesk.hub.download import fetch_reference as module
from specdesk.hub.download.fetch_reference import State, compare_all, fetch_reference, list_models, look_up
from specdesk.hub.here.origin import origin_of
from specdesk.hub.reference import HubReference, Reference, UrlReference
from specdesk.hub.stopping import Never
from tests.hub.samples import CONTENT, Recorder, corrupted
from tests.hub.server import HubServer

GGUF = b"GGUF" + CONTENT
FILE = "owner/toy/toy.gguf"
TOY = HubReference("owner/toy", "toy.gguf", None)
SHARDS = [f"q4/big-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
BIG = HubReference("owner/toy", SHARDS[1], None)
OLD, NEW = "0" * 40, "1" * 40


@pytest.fixture
def hub(monkeypatch: pytest.MonkeyPatch) -> Iterator[HubServer]:
    files = {FILE: GGUF} | {f"owner/toy/{name}": GGUF + name.encode() for name in SHARDS}
    with HubServer(files) as server:
        monkeypatch.setattr(constants, "ENDPOINT", server.url)
        template = server.url + "/{repo_id}/resolve/{revision}/{filename}"
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
        yield server


def asked(hub: HubServer) -> list[str]:
    return [f"{seen.method} {seen.target}" for seen in hub.seen]


def ranges(hub: HubServer) -> list[str | None]:
    return [seen.range for seen in hub.seen if seen.method == "GET" and "/api/" not in seen.target]


def place(reference: Reference = TOY) -> Path:
    return reference.places()[0]


def left(home: Path) -> list[str]:
    """What lies in the models folder, but for locks and what is remembered of files."""
    return sorted(path.name for path in (home / "models").rglob("*") if path.is_file() and path.name[0] != ".")


def stopped_half_way(reference: Reference) -> None:
    stop = threading.Event()

    class Stopping(Recorder):
        def advance(self, n_bytes: int) -> None:
            stop.set()

    with pytest.raises(Interrupted):
        fetch_reference(reference, Stopping(), stop=stop)


def test_size_hash_licence_and_revision_come_from_the_hub(hub: HubServer) -> None:
    report = Recorder()
    assert fetch_reference(TOY, report) == place()
    assert place().read_bytes() == GGUF
    (plan,) = report.plans
    assert (plan.name, plan.size_bytes, plan.licences, plan.memory_bytes) == (str(TOY), len(GGUF), ("mit",), None)
    assert report.notices == []
    assert asked(hub) == [
        "GET /api/models/owner/toy?blobs=true",
        f"HEAD /owner/toy/resolve/{OLD}/toy.gguf",
        f"GET /owner/toy/resolve/{OLD}/toy.gguf",
    ], "at the commit that was looked up"


@pytest.mark.parametrize(
    ("card", "licences"),
    [
        ({"license": "other", "license_name": "qwen-research"}, ("qwen-research",)),
        ({"license": ["mit", "apache-2.0"]}, ("mit, apache-2.0",)),
        ({}, ()),
    ],
)
def test_licences_as_repositories_state_them(hub: HubServer, card: dict[str, object], licences: tuple[str]) -> None:
    hub.card = card
    report = Recorder()
    fetch_reference(TOY, report)
    assert report.plans[0].licences == licences


def test_what_is_here_is_not_asked_about(hub: HubServer) -> None:
    fetch_reference(TOY, Recorder())
    hub.seen.clear()
    report = Recorder()
    assert fetch_reference(TOY, report) == place()
    assert (hub.seen, report) == ([], Recorder())


def test_a_folder_of_its_name_is_not_it(hub: HubServer) -> None:
    place().mkdir(parents=True)
    for update in (False, True):
        with pytest.raises(StorageError, match="is no file"):
            fetch_reference(TOY, Recorder(), update=update)


def test_wrong_bytes_get_no_name(hub: HubServer, home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The listing is of other bytes than those that are sent."""
    published = look_up(TOY, lambda _text: None, Never())
    monkeypatch.setattr(module, "look_up", lambda *_args: published)
    hub.files[FILE] = corrupted(GGUF)
    with pytest.raises(NetworkError, match="its sha256 is"):
        fetch_reference(TOY, Recorder())
    assert left(home) == []


def test_a_part_of_this_version_is_gone_on_with(hub: HubServer) -> None:
    hub.breaks, hub.stalls = [5000], True
    stopped_half_way(TOY)
    hub.seen.clear()
    hub.commit = NEW  # a later commit that leaves the file as it is
    fetch_reference(TOY, Recorder())
    assert place().read_bytes() == GGUF
    assert ranges(hub) == ["bytes=5000-"]


def test_a_part_of_another_version_is_not(hub: HubServer) -> None:
    hub.breaks, hub.stalls = [5000], True
    stopped_half_way(TOY)
    hub.files[FILE], hub.commit = corrupted(GGUF), NEW
    hub.seen.clear()
    report = Recorder()
    fetch_reference(TOY, report)
    assert place().read_bytes() == corrupted(GGUF)
    assert (ranges(hub), report.notices) == ([None], [])


def test_a_split_model_is_fetched_whole_whichever_part_is_named(hub: HubServer, home: Path) -> None:
    report = Recorder()
    assert fetch_reference(BIG, report).name == "big-00001-of-00003.gguf"
    assert left(home) == [Path(name).name for name in SHARDS]
    assert report.plans[0].files == tuple(SHARDS)
    assert report.plans[0].size_bytes == sum(len(hub.files[f"owner/toy/{name}"]) for name in SHARDS)


def test_each_part_is_gone_on_with_on_its_own(hub: HubServer, home: Path) -> None:
    hub.breaks, hub.stalls = [len(hub.files[f"owner/toy/{SHARDS[0]}"]), 4000], True
    stop = threading.Event()

    class Stopping(Recorder):
        def advance(self, n_bytes: int) -> None:
            if self.started[-1][0] == SHARDS[1]:
                stop.set()

    with pytest.raises(Interrupted):
        fetch_reference(BIG, Stopping(), stop=stop)
    hub.stalls = False
    hub.seen.clear()
    fetch_reference(BIG, Recorder())
    assert ranges(hub) == ["bytes=4000-", None]
    assert left(home) == [Path(name).name for name in SHARDS]


def test_parts_that_are_missing_come_from_the_commit_of_those_that_are_here(hub: HubServer) -> None:
    """Parts of two versions are no model."""
    fetch_reference(BIG, Recorder())
    place(BIG).with_name(Path(SHARDS[2]).name).unlink()
    hub.commit = NEW
    hub.seen.clear()
    fetch_reference(BIG, Recorder())
    assert asked(hub)[0] == f"GET /api/models/owner/toy/revision/{OLD}?blobs=true"


def test_a_split_model_that_is_not_published_whole_is_not_begun(hub: HubServer, home: Path) -> None:
    del hub.files[f"owner/toy/{SHARDS[2]}"]
    with pytest.raises(NetworkError, match=r"owner/toy has no q4/big-00003-of-00003.gguf at revision main"):
        fetch_reference(BIG, Recorder())
    assert not home.exists()


def test_an_update_is_said_and_made_only_when_asked_for(hub: HubServer, home: Path) -> None:
    fetch_reference(TOY, Recorder())
    assert state_of(TOY) is State.SAME
    newer = corrupted(GGUF)
    hub.files[FILE], hub.commit = newer, NEW
    assert state_of(TOY) is State.OTHER
    assert fetch_reference(TOY, Recorder()).read_bytes() == GGUF, "what is here is used"

    seen_while_fetching = []

    class Watching(Recorder):
        def advance(self, n_bytes: int) -> None:
            seen_while_fetching.append(place().read_bytes())

    fetch_reference(TOY, Watching(), update=True)
    assert set(seen_while_fetching) == {GGUF}, "it stays until the other one is complete"
    assert place().read_bytes() == newer
    assert left(home) == ["toy.gguf"]
    assert state_of(TOY) is State.SAME


def test_an_update_that_fails_leaves_what_is_here(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch_reference(TOY, Recorder())
    hub.files[FILE] = corrupted(GGUF)
    hub.get_status = 503
    listing = look_up_of(corrupted(GGUF))
    monkeypatch.setattr(module, "look_up", lambda *_args: listing)
    with pytest.raises(NetworkError, match="answered 503"):
        fetch_reference(TOY, Recorder(), update=True)
    assert place().read_bytes() == GGUF


def look_up_of(content: bytes) -> object:
    """What the hub would list with that content."""
    from specdesk.hub.artifacts import ModelFile
    from specdesk.hub.sources.published import Commit, Published, PublishedFile

    sha256 = hashlib.sha256(content).hexdigest()
    file = PublishedFile(ModelFile("toy.gguf", len(content), sha256, sha256), place(), str(TOY))
    return Published(str(TOY), None, Commit("owner/toy", NEW), "mit", (file,))


def test_with_nothing_new_an_update_fetches_nothing(hub: HubServer) -> None:
    fetch_reference(TOY, Recorder())
    hub.commit = NEW
    hub.seen.clear()
    fetch_reference(TOY, Recorder(), update=True)
    assert len(hub.seen) == 1


def test_a_file_that_was_put_there_is_known_by_its_hash(hub: HubServer) -> None:
    place().parent.mkdir(parents=True)
    place().write_bytes(GGUF)
    assert state_of(TOY) is State.SAME
    place().write_bytes(corrupted(GGUF))
    assert state_of(TOY) is State.OTHER


@pytest.mark.parametrize(
    ("content", "said"),
    [
        (GGUF[:5000], "only 5,000 of its 10,244 bytes are here"),
        (GGUF + b"x", "it has 10,245 bytes, not 10,244"),
        (corrupted(GGUF), "its bytes were changed since"),
    ],
    ids=["cut off", "longer", "changed"],
)
@pytest.mark.parametrize("reference", [TOY, HubReference("owner/toy", "toy.gguf", "v1")])
def test_a_file_that_is_not_what_was_downloaded_is_told_with_what_repairs_it(
    hub: HubServer, reference: HubReference, content: bytes, said: str
) -> None:
    fetch_reference(reference, Recorder())
    place().write_bytes(content)
    hub.seen.clear()
    mend = rf"\(specdesk download {reference} --update fetches it again\)"
    with pytest.raises(StorageError, match=rf"toy.gguf is not what was downloaded: {said} {mend}"):
        fetch_reference(reference, Recorder())
    assert hub.seen == [], "nobody is asked about what is here"
    assert state_of(reference) is State.DAMAGED
    assert fetch_reference(reference, Recorder(), update=True).read_bytes() == GGUF
    assert state_of(reference) is State.SAME


def test_a_damaged_part_of_a_split_model_is_told_and_repaired_alone(hub: HubServer) -> None:
    fetch_reference(BIG, Recorder())
    part = place(BIG).with_name(Path(SHARDS[2]).name)
    whole = part.read_bytes()
    part.write_bytes(corrupted(whole))
    for _ in range(2):  # also where another one is missing
        with pytest.raises(StorageError, match=f"{part.name} is not what was downloaded"):
            fetch_reference(BIG, Recorder())
        place(BIG).unlink(missing_ok=True)
    hub.seen.clear()
    fetch_reference(BIG, Recorder(), update=True)
    assert part.read_bytes() == whole
    assert len(ranges(hub)) == 2


def test_a_file_that_was_only_touched_is_what_was_downloaded(hub: HubServer) -> None:
    fetch_reference(TOY, Recorder())
    os.utime(place(), (1, 1))
    assert fetch_reference(TOY, Recorder()) == place()
    assert origin_of(place()) is not None, "it need not be read again the next time"


def test_what_was_put_in_its_place_and_is_published_now_is_no_damage(hub: HubServer) -> None:
    fetch_reference(TOY, Recorder())
    hub.files[FILE], hub.commit = corrupted(GGUF), NEW
    place().write_bytes(corrupted(GGUF))
    assert state_of(TOY) is State.SAME


def test_of_an_address_without_a_sha256_the_length_is_remembered(hub: HubServer, url: UrlReference) -> None:
    fetch_reference(url, Recorder())
    place(url).write_bytes(GGUF[:-1])
    with pytest.raises(StorageError, match="is not what was downloaded: only 10,243 of its 10,244 bytes are here"):
        fetch_reference(url, Recorder())
    assert state_of(url) is State.DAMAGED
    place(url).write_bytes(corrupted(GGUF))
    assert fetch_reference(url, Recorder()) == place(url), "nothing tells"


def test_another_revision_than_the_one_here_is_not_taken_for_it(hub: HubServer) -> None:
    fetch_reference(TOY, Recorder())
    hub.files[FILE], hub.commit = corrupted(GGUF), NEW
    tagged = HubReference("owner/toy", "toy.gguf", "v1")
    with pytest.raises(StorageError, match=r"is here, but not as hf:owner/toy/toy.gguf@v1 is now \(--update puts"):
        fetch_reference(tagged, Recorder())
    assert place().read_bytes() == GGUF
    fetch_reference(tagged, Recorder(), update=True)
    assert place().read_bytes() == corrupted(GGUF)
    hub.seen.clear()
    fetch_reference(tagged, Recorder())
    assert hub.seen == []


def state_of(reference: Reference) -> State:
    return compare_all(look_up(reference, lambda _text: None, Never()), Never())


def test_the_models_of_a_repository(hub: HubServer) -> None:
    hub.listed = [
        "../../x.gguf",
        "/etc/x.gguf",
        "C:\\x.gguf",
        "a\\..\\..\\x.gguf",
        "README.md",
        "lost-00002-of-00002.gguf",
    ]
    models = list_models(HubReference("owner/toy", "", None), lambda _text: None, Never())
    assert [(model.name, len(model.files)) for model in models] == [
        ("hf:owner/toy/toy.gguf", 1),
        (f"hf:owner/toy/{SHARDS[0]}", 3),
    ], "names that lead out of the folder are not among them"


def test_a_repository_without_models(hub: HubServer) -> None:
    hub.files = {"owner/toy/README.md": b"text"}
    with pytest.raises(NetworkError, match="hf:owner/toy holds no GGUF file"):
        list_models(HubReference("owner/toy", "", None), lambda _text: None, Never())


def test_a_name_that_is_nearly_right(hub: HubServer) -> None:
    with pytest.raises(NetworkError, match=r"owner/toy has no tey.gguf at revision main; the nearest is toy.gguf; "):
        fetch_reference(HubReference("owner/toy", "tey.gguf", None), Recorder())


@pytest.mark.parametrize(
    ("status", "code", "said"),
    [
        (401, None, "shows no owner/toy without a token: check the name, or set HF_TOKEN and see"),
        (404, "RevisionNotFound", "has no revision v1 of owner/toy: see"),
        (404, None, "has no owner/toy: see"),
    ],
)
def test_refusals_of_the_listing(hub: HubServer, status: int, code: str | None, said: str) -> None:
    hub.status, hub.error_code = status, code
    with pytest.raises(NetworkError, match=said):
        fetch_reference(HubReference("owner/toy", "toy.gguf", "v1"), Recorder())


def test_a_busy_hub_is_asked_again_when_it_says(hub: HubServer) -> None:
    hub.busy, hub.retry_after = 1, "0"
    report = Recorder()
    fetch_reference(TOY, report)
    assert report.notices == [f"{hub.host} answered 503 for owner/toy; trying again"]


def test_offline_nothing_is_asked(hub: HubServer, monkeypatch: pytest.MonkeyPatch) -> None:
    fetch_reference(TOY, Recorder())
    hub.seen.clear()
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert fetch_reference(TOY, Recorder()) == place()
    with pytest.raises(NetworkError, match="HF_HUB_OFFLINE is set: nobody is asked for hf:owner/toy/q4"):
        fetch_reference(BIG, Recorder())
    assert hub.seen == []


# --- plain addresses -------------------------------------------------------------------------------------------------


@pytest.fixture
def url(hub: HubServer) -> UrlReference:
    hub.files["some/where/toy.gguf"] = GGUF
    return UrlReference(f"{hub.url}/some/where/toy.gguf")


def test_an_address_is_fetched_and_its_check_is_told(hub: HubServer, url: UrlReference) -> None:
    report = Recorder()
    assert fetch_reference(url, report).read_bytes() == GGUF
    assert report.notices == ["no sha256 is published for it: only its length can be checked"]
    assert report.plans[0].licences == ()
    hub.seen.clear()
    fetch_reference(url, Recorder())
    assert hub.seen == []


def test_an_address_that_speaks_as_the_hub_does_gives_a_sha256(hub: HubServer, content_network: HubServer) -> None:
    """It names the file in the answer that sends on to where the bytes lie."""
    hub.linked_etag = f'"{hashlib.sha256(GGUF).hexdigest()}"'
    hub.head_redirect = hub.get_redirect = content_network.url
    content_network.files[FILE] = GGUF
    content_network.linked_etag = '"another"'
    report = Recorder()
    fetch_reference(UrlReference(f"{hub.url}/owner/toy/resolve/main/toy.gguf"), report)
    assert report.notices == []


def test_an_address_goes_on_only_with_the_same_etag(hub: HubServer, url: UrlReference) -> None:
    hub.breaks, hub.stalls = [5000], True
    stopped_half_way(url)
    hub.seen.clear()
    fetch_reference(url, Recorder())
    assert place(url).read_bytes() == GGUF
    assert [(seen.range, seen.if_range) for seen in hub.seen if seen.method == "GET"] == [("bytes=5000-", '"etag"')]


@pytest.mark.parametrize("etag", ['"changed"', 'W/"etag"', ""])
def test_an_address_begins_anew_where_the_version_is_another_or_unknown(
    hub: HubServer, url: UrlReference, etag: str
) -> None:
    hub.breaks, hub.stalls = [5000], True
    stopped_half_way(url)
    hub.files["some/where/toy.gguf"], hub.etag = corrupted(GGUF), etag
    hub.seen.clear()
    fetch_reference(url, Recorder())
    assert place(url).read_bytes() == corrupted(GGUF)
    assert ranges(hub) == [None]


def test_an_address_without_a_version_is_never_gone_on_with(hub: HubServer, url: UrlReference) -> None:
    hub.etag = ""
    hub.breaks, hub.stalls = [5000], True
    stopped_half_way(url)
    hub.seen.clear()
    fetch_reference(url, Recorder())
    assert ranges(hub) == [None]
    assert state_of(url) is State.UNKNOWN


def test_a_server_without_head_is_asked_for_one_byte(hub: HubServer, url: UrlReference) -> None:
    hub.has_head = False
    fetch_reference(url, Recorder())
    assert place(url).read_bytes() == GGUF
    assert ranges(hub) == ["bytes=0-0", None]


@pytest.mark.parametrize("compresses", [False, True])
def test_one_whose_head_tells_no_length_is_asked_for_one_byte_too(
    hub: HubServer, url: UrlReference, compresses: bool
) -> None:
    """Of what is compressed on the way it tells another length."""
    hub.head_says_length, hub.compresses_head = compresses, compresses
    fetch_reference(url, Recorder())
    assert place(url).read_bytes() == GGUF
    assert ranges(hub) == ["bytes=0-0", None]


def test_the_length_of_one_byte_is_not_that_of_the_file(hub: HubServer, url: UrlReference) -> None:
    hub.has_head, hub.total = False, "*"
    with pytest.raises(NetworkError, match=r"does not say how long some/where/toy\.gguf is"):
        fetch_reference(url, Recorder())


def test_a_page_is_not_taken_for_a_model(hub: HubServer, url: UrlReference, home: Path) -> None:
    hub.files["some/where/toy.gguf"] = b"<html>please log in</html>"
    with pytest.raises(NetworkError, match="sends something else than a GGUF file"):
        fetch_reference(url, Recorder())
    assert left(home) == []


@pytest.mark.parametrize(
    ("status", "said"),
    [
        (401, "does not give some/where/toy.gguf to everybody"),
        (404, "has no some/where/toy.gguf: check the address"),
        (500, "answered 500 for some/where/toy.gguf"),
    ],
)
def test_refusals_of_an_address(hub: HubServer, url: UrlReference, status: int, said: str) -> None:
    hub.status = status
    with pytest.raises(NetworkError, match=said):
        fetch_reference(url, Recorder())


def test_an_update_at_an_address_is_told_by_its_etag(hub: HubServer, url: UrlReference) -> None:
    fetch_reference(url, Recorder())
    assert state_of(url) is State.SAME
    hub.files["some/where/toy.gguf"], hub.etag = corrupted(GGUF), '"newer"'
    assert state_of(url) is State.OTHER
    fetch_reference(url, Recorder(), update=True)
    assert place(url).read_bytes() == corrupted(GGUF)


def test_the_token_goes_to_no_plain_address(hub: HubServer, url: UrlReference, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HF_TOKEN", "hf_secretsecretsecret")
    fetch_reference(url, Recorder())
    assert {seen.authorization for seen in hub.seen} == {None}
