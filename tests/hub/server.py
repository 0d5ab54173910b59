"""A server on 127.0.0.1 that answers as the Hugging Face hub does, with a switch for all that goes wrong."""

from __future__ import annotations

import gzip
import hashlib
import json
import ssl
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from types import TracebackType
from typing import Any, Self
from urllib.parse import unquote, urlsplit


@dataclass(frozen=True, slots=True)
class Seen:
    """One request: `target` as it stood in the request line, which for a proxy is a whole URL."""

    method: str
    target: str
    authorization: str | None
    range: str | None = None
    if_range: str | None = None
    accept_encoding: str | None = None


@dataclass
class HubServer:
    """Serves `files`, OWNER/REPO/FILE -> content, under /OWNER/REPO/resolve/REVISION/FILE and as they are called.

    What a repository holds is listed under /api/models/OWNER/REPO, with the sha256 of each file.
    """

    files: dict[str, bytes] = field(default_factory=dict)
    status: int = 200
    """Answered to every HEAD, and to every GET unless `get_status` says otherwise."""
    get_status: int | None = None
    error_code: str | None = None
    announced_size: int | None = None
    """What HEAD says instead of the truth."""
    sent_bytes: int | None = None
    """After how many bytes of a body the connection is closed."""
    stalls: bool = False
    """Whether the connection then stays open and silent instead."""
    breaks: list[int] = field(default_factory=list)
    """The same as `sent_bytes` for the next bodies, one after the other."""
    retry_after: str | None = None
    """What is sent along with a refusal."""
    busy: int = 0
    """So many requests are refused with 503 first."""
    etag: str = '"etag"'
    """Of the bodies; and of HEAD, unless `linked_etag` says otherwise."""
    linked_etag: str | None = None
    """What the hub calls the file, where it lies on another host."""
    ranges: str = "right"
    """Whether a part of a file can be asked for: `right`; `wrong` sends another one, `none` the whole file.

    `unsaid` sends it without saying which one it is.
    """
    most_bytes: int | None = None
    """The longest part of a file that is sent at once."""
    total: str | None = None
    """What is said of the length of the whole where a part of it is sent, instead of the truth."""
    says_length: bool = True
    """Whether a body's length is said before it; without, it ends where the connection does."""
    compresses: bool = False
    """Whether bodies are compressed, unasked."""
    head_says_length: bool = True
    compresses_head: bool = False
    """The same two of HEAD."""
    body_bytes: int = 0
    """Of all bodies together, as far as they were sent."""
    head_redirect: str | None = None
    """Base URL that HEAD points to, as the hub points to its content network."""
    get_redirect: str | None = None
    seen: list[Seen] = field(default_factory=list)
    commit: str = "0" * 40
    card: dict[str, Any] = field(default_factory=lambda: {"license": "mit"})
    listing: bytes | None = None
    """What is answered to who asks what a repository holds, instead of the truth."""
    listed: list[str] = field(default_factory=list)
    """Names that are listed beside those of `files`."""
    has_head: bool = True
    """Whether HEAD is answered at all."""

    def __enter__(self) -> Self:
        self._released = threading.Event()
        self._http = ThreadingHTTPServer(("127.0.0.1", 0), lambda *request: _Handler(self, *request))
        self._http.daemon_threads = True
        self._http.block_on_close = False
        self._thread = threading.Thread(target=self._http.serve_forever, kwargs={"poll_interval": 0.01})
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        self._released.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()

    @property
    def url(self) -> str:
        return f"http://{self.host}"

    @property
    def host(self) -> str:
        return f"127.0.0.1:{self._http.server_port}"

    def encrypt(self, certificate: Path, key: Path) -> None:
        """From now on only https is spoken."""
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate, key)
        self._http.socket = context.wrap_socket(self._http.socket, server_side=True)

    def stay_silent(self) -> None:
        """Blocks a handler until the server is closed."""
        self._released.wait()


class _Handler(BaseHTTPRequestHandler):
    def __init__(self, hub: HubServer, *request: Any) -> None:
        self.hub = hub
        super().__init__(*request)  # which answers

    def do_HEAD(self) -> None:
        content = self._content()
        if content is None:
            return
        hub = self.hub
        size = len(content) if hub.announced_size is None else hub.announced_size
        self.send_response(302 if hub.head_redirect else 200)
        if hub.head_redirect:
            self.send_header("Location", hub.head_redirect + urlsplit(self.path).path)
            self.send_header("Content-Length", "0")
        elif hub.head_says_length:
            self.send_header("Content-Length", str(size // 2 if hub.compresses_head else size))
        if hub.compresses_head:
            self.send_header("Content-Encoding", "gzip")
        self._tag()
        if "/resolve/" in self.path:
            self.send_header("X-Repo-Commit", hub.commit)
            self.send_header("X-Linked-Size", str(size))
            self.send_header("X-Linked-Etag", hub.linked_etag or hub.etag)
        self.end_headers()

    def do_GET(self) -> None:
        content = self._content()
        if content is None:
            return
        hub = self.hub
        if hub.get_redirect:
            self.send_response(302)
            self.send_header("Location", hub.get_redirect + urlsplit(self.path).path)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        content = self._part(content)
        self._tag()
        if hub.compresses:
            content = gzip.compress(content)
            self.send_header("Content-Encoding", "gzip")
        if hub.says_length:
            self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        stalls = hub.stalls and (hub.sent_bytes is not None or bool(hub.breaks))
        sent = content[: hub.breaks.pop(0) if hub.breaks else hub.sent_bytes]
        hub.body_bytes += len(sent)
        self.wfile.write(sent)
        if stalls:
            self.wfile.flush()
            hub.stay_silent()
        self.close_connection = True

    def _tag(self) -> None:
        if self.hub.etag:
            self.send_header("ETag", self.hub.etag)

    def _list(self, repo: str) -> None:
        """What a repository holds, as the hub's API tells it."""
        hub = self.hub
        named = {name.removeprefix(f"{repo}/"): content for name, content in hub.files.items() if name.startswith(repo)}
        siblings = [
            {
                "rfilename": name,
                "size": len(content),
                "blobId": "0" * 40,
                "lfs": {"size": len(content), "sha256": hashlib.sha256(content).hexdigest(), "pointerSize": 130},
            }
            for name, content in (named | dict.fromkeys(hub.listed, b"GGUF")).items()
        ]
        answer = {"id": repo, "modelId": repo, "sha": hub.commit, "cardData": hub.card, "siblings": siblings}
        body = json.dumps(answer).encode() if hub.listing is None else hub.listing
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _part(self, content: bytes) -> bytes:
        """What of the file was asked for, after the headers that say so have been sent."""
        if self.headers.get("Range") == "bytes=0-0":
            self.send_response(206)
            self.send_header("Content-Range", f"bytes 0-0/{self.hub.total or len(content)}")
            return content[:1]
        asked, only_of = self.headers.get("Range"), self.headers.get("If-Range")
        if asked is None or self.hub.ranges == "none" or only_of not in (None, self.hub.etag):
            self.send_response(200)
            return content
        start = int(asked.removeprefix("bytes=").removesuffix("-")) + (1 if self.hub.ranges == "wrong" else 0)
        if start >= len(content):
            self.send_response(416)
            return b""
        end = len(content) if self.hub.most_bytes is None else min(len(content), start + self.hub.most_bytes)
        self.send_response(206)
        if self.hub.ranges != "unsaid":
            self.send_header("Content-Range", f"bytes {start}-{end - 1}/{self.hub.total or len(content)}")
        return content[start:end]

    def _content(self) -> bytes | None:
        """The file asked for; or None, after the refusal has been sent."""
        hub = self.hub
        asked_with = [self.headers.get(name) for name in ("Authorization", "Range", "If-Range", "Accept-Encoding")]
        hub.seen.append(Seen(self.command, self.path, *asked_with))
        status = hub.get_status if self.command == "GET" and hub.get_status else hub.status
        if hub.busy:
            hub.busy, status = hub.busy - 1, 503
        if self.command == "HEAD" and not hub.has_head:
            status = 405
        path = unquote(urlsplit(self.path).path).strip("/")
        if path.startswith("api/models/") and status == 200:
            repo = "/".join(path.split("/")[2:4])
            if any(name.startswith(f"{repo}/") for name in hub.files):
                self._list(repo)
                return None
        names = path.split("/")
        if names[2:3] == ["resolve"]:
            del names[2:4]
        content = hub.files.get("/".join(names))
        if status == 200 and content is not None:
            return content
        self.send_response(404 if status == 200 else status)
        if hub.error_code:
            self.send_header("X-Error-Code", hub.error_code)
        if hub.retry_after is not None:
            self.send_header("Retry-After", hub.retry_after)
        self.send_header("Content-Length", "0")
        self.end_headers()
        return None

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002
        """Tests read `seen` instead."""
