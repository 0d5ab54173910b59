"""`specdesk download` of files that no pair names: what is printed, and what survives whatever ends it."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.cli.shell import COMMAND, TIMEOUT_S, specdesk
from tests.hub.server import HubServer
from tests.tiny.gguf_stubs import write_stub

GGUF = b"GGUF" + bytes(range(256)) * 4096
SIZE = len(GGUF)
TOKEN = "hf_secretsecretsecret"
TOY = "hf:owner/toy/toy.gguf"


@pytest.fixture
def hub() -> Iterator[HubServer]:
    files = {"owner/toy/toy.gguf": GGUF, "owner/toy/big-00001-of-00002.gguf": GGUF}
    files["owner/toy/big-00002-of-00002.gguf"] = GGUF[:1000]
    with HubServer(files) as server:
        yield server


@pytest.fixture
def env(hub: HubServer) -> dict[str, str]:
    return {"HF_ENDPOINT": hub.url, "no_proxy": "127.0.0.1"}


def folder() -> Path:
    return Path(os.environ["SPECDESK_HOME"]) / "models"


def files() -> list[str]:
    """What lies in the models folder, but for locks and what is remembered of files."""
    found = (path for path in folder().rglob("*") if path.is_file() and path.name[0] != ".")
    return sorted(path.name for path in found)


def download(*args: str, env: dict[str, str]) -> subprocess.CompletedProcess[str]:
    return specdesk("download", *args, env=env)


def test_a_file_is_fetched_and_the_line_to_type_is_said(env: dict[str, str]) -> None:
    done = download(TOY, env=env)
    path = folder() / "owner" / "toy" / "toy.gguf"
    assert (done.returncode, done.stdout) == (0, f"model  {path}\n"), done.stderr
    lines = done.stderr.splitlines()
    assert lines[0] == f"fetching {TOY}: 1.0 MB (toy.gguf)"
    assert lines[1] == "licence: mit"
    assert lines[2].startswith(f"destination: {folder()}, ")
    assert lines[2].endswith(" free")
    draft = f"or as the draft of a larger one: specdesk run --target LARGER --draft {path} PROMPT"
    assert lines[-2:] == [
        "toy.gguf  checked",
        f"specdesk: run it with: specdesk run --target {path} PROMPT; {draft}",
    ]
    assert path.read_bytes() == GGUF


def test_a_repository_is_listed_with_what_to_type(env: dict[str, str]) -> None:
    download(TOY, env=env)
    done = download("hf:owner/toy", env=env)
    assert [line.split() for line in done.stdout.splitlines()] == [
        ["1.0", "MB", "here", TOY],
        ["1.0", "MB", "2", "files", "hf:owner/toy/big-00001-of-00002.gguf"],
    ]
    assert done.stderr == (
        "specdesk: licence: mit; fetch one with: specdesk download hf:owner/toy/big-00001-of-00002.gguf\n"
    )


def test_an_update_is_said_and_made_on_request(hub: HubServer, env: dict[str, str]) -> None:
    download(TOY, env=env)
    path = folder() / "owner" / "toy" / "toy.gguf"
    assert download(TOY, "--check", env=env).stdout == f"up to date  {path}\n"
    hub.files["owner/toy/toy.gguf"] = GGUF[:-1]
    done = download(TOY, "--check", env=env)
    assert done.stdout == f"update available  {path}\n"
    assert f"specdesk download {TOY} --update replaces it" in done.stderr
    assert "update available" in download("hf:owner/toy", env=env).stdout
    assert path.read_bytes() == GGUF
    download(TOY, "--update", env=env)
    assert path.read_bytes() == GGUF[:-1]


def test_damage_is_said_and_repaired_on_request(env: dict[str, str]) -> None:
    download(TOY, env=env)
    path = folder() / "owner" / "toy" / "toy.gguf"
    path.write_bytes(GGUF[:1000])
    done = download(TOY, env=env)
    assert (done.returncode, done.stdout) == (5, "")
    said = f"{path} is not what was downloaded: only 1,000 of its {SIZE:,} bytes are here"
    assert done.stderr == f"specdesk: {said} (specdesk download {TOY} --update fetches it again)\n"
    done = download(TOY, "--check", env=env)
    assert (done.returncode, done.stdout) == (0, f"damaged  {path}\n")
    assert done.stderr == (
        f"specdesk: it is not what was downloaded; specdesk download {TOY} --update fetches it again\n"
    )
    assert "damaged" in download("hf:owner/toy", env=env).stdout
    assert download(TOY, "--update", env=env).returncode == 0
    assert path.read_bytes() == GGUF


def test_every_file_of_a_repository_that_is_here_is_checked(hub: HubServer, env: dict[str, str]) -> None:
    done = download("hf:owner/toy", "--check", env=env)
    assert (done.returncode, done.stdout) == (0, "")
    assert (
        done.stderr == "specdesk: nothing of hf:owner/toy is here; specdesk download hf:owner/toy lists what there is\n"
    )
    download(TOY, env=env)
    big = "hf:owner/toy/big-00001-of-00002.gguf"
    download(big, env=env)
    path = folder() / "owner" / "toy"
    hub.files["owner/toy/toy.gguf"] = GGUF[:-1]
    done = download("hf:owner/toy", "--check", env=env)
    assert done.stdout.splitlines() == [
        f"update available  {path / 'toy.gguf'}",
        f"up to date  {path / 'big-00001-of-00002.gguf'}",
    ]
    assert f"specdesk download {TOY} --update replaces it" in done.stderr
    (path / "big-00002-of-00002.gguf").unlink()
    done = download("hf:owner/toy", "--check", env=env)
    assert done.stdout.splitlines()[1] == f"1 of 2 here  {path / 'big-00001-of-00002.gguf'}"
    assert f"specdesk download {big} fetches the others" in done.stderr
    states = [json.loads(line) for line in download("hf:owner/toy", "--check", "--json", env=env).stdout.splitlines()]
    assert [(one["event"], one["reference"], one["state"]) for one in states] == [
        ("check", TOY, "update available"),
        ("check", big, "not here"),
    ]


def test_the_listing_offers_what_is_not_here_and_counts_parts(env: dict[str, str]) -> None:
    big = "hf:owner/toy/big-00001-of-00002.gguf"
    assert download("hf:owner/toy", env=env).stderr.endswith(f"fetch one with: specdesk download {TOY}\n")
    download(big, env=env)
    (folder() / "owner" / "toy" / "big-00002-of-00002.gguf").unlink()
    assert "1 of 2 here" in download("hf:owner/toy", env=env).stdout
    assert download("hf:owner/toy", env=env).stderr.endswith(f"fetch one with: specdesk download {TOY}\n")
    download(TOY, env=env)
    assert download("hf:owner/toy", env=env).stderr.endswith(f"fetch one with: specdesk download {big}\n")
    download(big, env=env)
    assert download("hf:owner/toy", env=env).stderr == "specdesk: licence: mit\n"


@pytest.mark.parametrize("address", ["foo", "http://[::1", "ftp://hub.example", "http://u:secret@[::1"])
@pytest.mark.parametrize("what", [TOY, "hf:owner/toy", "http://127.0.0.1:9/owner/toy/toy.gguf", "default"])
def test_an_endpoint_that_is_no_address_is_said(address: str, what: str, env: dict[str, str]) -> None:
    done = download(what, env=env | {"HF_ENDPOINT": address})
    said = f"HF_ENDPOINT is no http(s) address: {address.replace('u:secret@', '')!r} (correct or unset it)"
    assert (done.returncode, done.stderr) == (4, f"specdesk: {said}\n")


def test_an_endpoint_that_is_no_address_is_no_matter_for_what_is_here(env: dict[str, str]) -> None:
    assert specdesk("models", env=env | {"HF_ENDPOINT": "http://[::1"}).returncode == 0


def test_a_folder_that_cannot_be_made_is_said(env: dict[str, str], tmp_path: Path) -> None:
    (tmp_path / "file").write_bytes(b"")
    place = tmp_path / "file" / "x"
    done = download(TOY, env=env | {"SPECDESK_HOME": str(place)})
    assert done.returncode == 5
    said = f"{place / 'models'} cannot be made: Not a directory"
    assert done.stderr.splitlines()[-1] == f"specdesk: {said} (set SPECDESK_HOME to a folder that can be written)"


def test_downloads_that_bring_nothing_leave_nothing(hub: HubServer, env: dict[str, str]) -> None:
    hub.get_status = 403
    hub.files["owner/toy/there.gguf"] = GGUF
    assert download(TOY, env=env).returncode == 4
    assert not folder().exists()
    hub.get_status = None
    download("hf:owner/toy/there.gguf", env=env)
    hub.get_status = 403
    assert download(TOY, env=env).returncode == 4
    assert "toy.gguf.lock" not in str(sorted((folder() / "owner" / "toy").iterdir()))


def test_json_for_scripts(hub: HubServer, env: dict[str, str]) -> None:
    listed = json.loads(download("hf:owner/toy", "--json", env=env).stdout)
    assert listed == {
        "event": "list",
        "licence": "mit",
        "models": [
            {"reference": TOY, "size_bytes": SIZE, "n_files": 1, "n_here": 0, "state": "not here"},
            {
                "reference": "hf:owner/toy/big-00001-of-00002.gguf",
                "size_bytes": SIZE + 1000,
                "n_files": 2,
                "n_here": 0,
                "state": "not here",
            },
        ],
    }
    lines = [json.loads(line) for line in download(TOY, "--json", env=env).stdout.splitlines()]
    path = str(folder() / "owner" / "toy" / "toy.gguf")
    assert lines[-1] == {
        "event": "done",
        "files": {"model": path},
        "run": f"specdesk run --target {path} PROMPT",
    }
    checked = json.loads(download(TOY, "--check", "--json", env=env).stdout)
    assert checked == {"event": "check", "reference": TOY, "state": "up to date", "file": path}


@pytest.mark.parametrize(
    "args",
    [("hf:owner/toy", "--update"), ("default", "--update"), ("hf:owner/toy/x.bin",)],
)
def test_what_makes_no_sense_is_a_usage_error(args: tuple[str, ...], hub: HubServer, env: dict[str, str]) -> None:
    done = download(*args, env=env)
    assert (done.returncode, done.stdout, hub.seen) == (2, "", []), done.stderr


def test_names_that_lead_out_of_the_folder_are_refused(hub: HubServer, env: dict[str, str]) -> None:
    for name in ("../../x.gguf", "/x.gguf", "C:\\x.gguf", "a\\..\\..\\x.gguf"):
        hub.listed.append(name)
        done = download(f"hf:owner/toy/{name}", env=env)
        assert (done.returncode, hub.seen) == (2, []), name
    assert not folder().exists()


@pytest.mark.parametrize(
    ("status", "token", "said"),
    [
        (401, False, "shows no owner/toy without a token"),
        (403, True, "accept its licence at"),
        (404, True, "has no owner/toy"),
    ],
)
def test_gated_missing_and_unknown_are_told_apart_and_the_token_is_not(
    hub: HubServer, env: dict[str, str], status: int, token: bool, said: str
) -> None:
    hub.status = status
    done = download(TOY, env=env | ({"HF_TOKEN": TOKEN} if token else {}))
    assert done.returncode == 4
    (line,) = done.stderr.splitlines()
    assert said in line
    assert f"{hub.url}/owner/toy" in line
    assert TOKEN not in done.stdout + done.stderr


def test_the_token_is_in_no_output_and_no_name(hub: HubServer, env: dict[str, str]) -> None:
    done = download(TOY, "--json", env=env | {"HF_TOKEN": TOKEN, "HF_DEBUG": "1"})
    assert done.returncode == 0
    assert {seen.authorization for seen in hub.seen} == {f"Bearer {TOKEN}"}
    assert TOKEN not in done.stdout + done.stderr
    for path in Path(os.environ["SPECDESK_HOME"]).rglob("*"):
        assert TOKEN not in str(path)
        assert not path.is_file() or TOKEN.encode() not in path.read_bytes()


def test_unreachable_is_a_message_of_its_own(env: dict[str, str]) -> None:
    done = download(TOY, env=env | {"HF_ENDPOINT": "http://127.0.0.1:9"})
    assert done.returncode == 4
    assert done.stderr == "specdesk: 127.0.0.1:9 could not be reached: Connection refused\n"


def test_what_is_here_is_said_to_be_here_with_the_network_blocked(hub: HubServer, env: dict[str, str]) -> None:
    download(TOY, env=env)
    hub.seen.clear()
    for variables in ({"HF_HUB_OFFLINE": "1"}, {"HF_ENDPOINT": "http://127.0.0.1:9"}):
        done = download(TOY, env=env | variables)
        assert done.returncode == 0, done.stderr
        assert done.stdout.startswith("model  ")
    offline = download("hf:owner/toy/big-00001-of-00002.gguf", env=env | {"HF_HUB_OFFLINE": "1"})
    assert offline.returncode == 4
    assert "HF_HUB_OFFLINE is set" in offline.stderr
    assert hub.seen == []


def test_a_split_model_is_run_whole_or_not_at_all(hub: HubServer, env: dict[str, str], tmp_path: Path) -> None:
    """Nothing is loaded while a file is missing; the message says how to get it, and that works."""
    names = [f"big-0000{number}-of-00003.gguf" for number in (1, 2, 3)]
    stub = write_stub(tmp_path / "stub.gguf", n_parts=3).read_bytes()
    hub.files = {f"owner/split/{name}": stub + name.encode() for name in names}
    done = download(f"hf:owner/split/{names[1]}", env=env)
    first = folder() / "owner" / "split" / names[0]
    assert done.stdout == f"model  {first}\n", done.stderr
    assert files() == names
    first.with_name(names[1]).unlink()
    for name in (names[0], names[2]):
        done = specdesk("run", "--target", first.with_name(name), "hello", env=env)
        assert (done.returncode, done.stdout) == (3, "")
        assert done.stderr == (
            f"specdesk: {first.with_name(name)} cannot be loaded: incomplete: 2 of 3 parts; {names[1]} is missing "
            f"(fetch it with: specdesk download hf:owner/split/{names[0]})\n"
        )
    assert download(f"hf:owner/split/{names[0]}", env=env).returncode == 0
    assert files() == names


@pytest.mark.skipif(shutil.which("openssl") is None, reason="no openssl to make a certificate with")
def test_the_certificate_of_a_company_can_be_trusted(hub: HubServer, env: dict[str, str], tmp_path: Path) -> None:
    certificate, key = tmp_path / "certificate.pem", tmp_path / "key.pem"
    kind = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-subj", "/CN=hub"]
    names = ["-addext", "subjectAltName=IP:127.0.0.1"]
    subprocess.run(
        ["openssl", "req", "-x509", *kind, *names, "-keyout", key, "-out", certificate], check=True, capture_output=True
    )
    hub.encrypt(certificate, key)
    env |= {"HF_ENDPOINT": hub.url.replace("http:", "https:"), "SSL_CERT_FILE": ""}
    done = download(TOY, env=env)
    assert done.returncode == 4
    assert "its certificate is not trusted, which SSL_CERT_FILE can change" in done.stderr
    assert download(TOY, env=env | {"SSL_CERT_FILE": str(certificate)}).returncode == 0


PART = SIZE * 60 // 100


def begun(hub: HubServer, env: dict[str, str]) -> subprocess.Popen[bytes]:
    """A download that waits for the rest of its file, with 60% on the disk."""
    hub.breaks, hub.stalls = [PART], True
    running = subprocess.Popen(
        [*COMMAND, "download", TOY], env=os.environ | env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    )
    part = folder() / "owner" / "toy" / "toy.gguf.part"
    ends = threading.Event()
    for _ in range(TIMEOUT_S * 100):
        if part.exists() and part.stat().st_size == PART:
            break
        assert running.poll() is None, running.communicate()
        ends.wait(0.01)
    assert part.stat().st_size == PART
    hub.stalls = False
    return running


@pytest.mark.parametrize(
    ("number", "code"), [(signal.SIGKILL, -signal.SIGKILL), (signal.SIGINT, 130), (signal.SIGTERM, 143)]
)
def test_whatever_ends_it_the_next_one_goes_on(
    hub: HubServer, env: dict[str, str], number: signal.Signals, code: int
) -> None:
    with begun(hub, env) as running:
        running.send_signal(number)
        _, err = running.communicate(timeout=TIMEOUT_S)
    assert running.returncode == code, err
    assert "toy.gguf" not in files()
    assert b"Traceback" not in err
    if number == signal.SIGINT:
        assert b"specdesk: stopped; 629.1 kB of 1.0 MB had come" in err
    done = download(TOY, env=env)
    assert done.returncode == 0, done.stderr
    assert "toy.gguf  going on from " in done.stderr
    assert (folder() / "owner" / "toy" / "toy.gguf").read_bytes() == GGUF
    assert [seen.range for seen in hub.seen if "resolve" in seen.target and seen.method == "GET"] == [
        None,
        f"bytes={PART}-",
    ]
    assert hub.body_bytes <= 1.05 * SIZE
    assert files() == ["toy.gguf"]


def test_two_at_once_fetch_it_once(hub: HubServer, env: dict[str, str]) -> None:
    with begun(hub, env) as first:
        with subprocess.Popen(
            [*COMMAND, "download", TOY], env=os.environ | env, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        ) as second:
            assert second.stderr is not None
            said = b""
            while b"another specdesk is fetching toy.gguf; waiting for it" not in said:
                line = second.stderr.readline()
                assert line, said
                said += line
            first.kill()
            second.communicate(timeout=TIMEOUT_S)
        first.communicate(timeout=TIMEOUT_S)
    assert second.returncode == 0
    assert (folder() / "owner" / "toy" / "toy.gguf").read_bytes() == GGUF
    assert hub.body_bytes <= 1.05 * SIZE
