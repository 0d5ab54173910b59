"""One llama-server: started, asked, and what it took by its own clock."""

from __future__ import annotations

import json
import socket
import subprocess
import time
from collections.abc import Sequence
from dataclasses import dataclass
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from typing import Any, Final

from llama_server.children import Children
from llama_server.log import last_lines
from specdesk.core.sampling import Sampling
from specdesk.engine.client import EngineInfo
from specdesk.errors import GenerationError, ModelError, UsageError

_HOST: Final = "127.0.0.1"
_POLL_S: Final = 0.05
_STOP_ARRIVES_S: Final = 0.5
"""Ctrl-C reaches a server too, and maybe before we know of it."""


@dataclass(frozen=True, slots=True)
class ServerMode:
    """A way to start it."""

    name: str
    speculates: bool = True
    with_draft: bool = False
    """Whether the draft model takes part."""
    options: tuple[str, ...] = ()


PLAIN: Final = ServerMode("plain", speculates=False)
MODES: Final = (
    PLAIN,
    ServerMode("draft", with_draft=True, options=("--spec-type", "draft-simple")),
    ServerMode(
        "draft 8",
        with_draft=True,
        options=("--spec-type", "draft-simple", "--spec-draft-n-max", "8", "--spec-draft-p-min", "0.75"),
    ),
    ServerMode("ngram", options=("--spec-type", "ngram-simple")),
)
"""What is not named here is as llama-server has it: draft-simple drafts 3 tokens, and ngram-simple up to 48 after 12
that were seen before."""


@dataclass(frozen=True, slots=True)
class Timings:
    """What llama-server says of an answer."""

    prompt_n: int
    """Tokens of the prompt that it read."""
    prompt_ms: float
    """From its start to the first token. The draft model reads the prompt before that token is drawn."""
    predicted_n: int
    predicted_ms: float
    """From the first token to the last."""
    drafted: int
    accepted: int


@dataclass(frozen=True, slots=True)
class Reply:
    """An answer."""

    timings: Timings
    token_ids: tuple[int, ...]
    stop_type: str


class Server:
    """A llama-server in one mode, ready for questions once `wait_until_ready` has returned."""

    def __init__(
        self,
        binary: Path,
        mode: ServerMode,
        models: tuple[Path, Path],
        info: EngineInfo,
        logs: Path,
        children: Children,
    ) -> None:
        """Start it with `models`, target and draft, and as `info` has them: threads, context, layers on the GPU.

        Raises: UsageError if `binary` cannot be started; Interrupted.
        """
        self.mode = mode
        self._children = children
        self._port = _free_port()
        self.command = [str(binary), *_arguments(mode, models, info, self._port)]
        self._log = logs / f"{mode.name.replace(' ', '-')}.log"
        try:
            with self._log.open("wb") as output:
                self._process: subprocess.Popen[bytes] = children.start(self.command, output)
        except OSError as error:
            raise UsageError(f"cannot start {binary}: {error.strerror}", "--server names a llama-server") from error

    def wait_until_ready(self) -> None:
        """Return once it takes questions, and speculates as its mode says.

        Raises: ModelError if it ends instead, or does not speculate; Interrupted.
        """
        while True:
            if self._process.poll() is not None:
                self._children.check(_STOP_ARRIVES_S)
                code = self._process.returncode
                raise ModelError(f"llama-server ({self.mode.name}) ended with code {code}:\n{last_lines(self._log)}")
            try:
                if self._ask("GET", "/health")[0] == 200:
                    break
            except ConnectionRefusedError:
                pass
            except (OSError, HTTPException):
                self._children.check(_STOP_ARRIVES_S)
            time.sleep(_POLL_S)
        slots = self._answered("GET", "/slots")
        if [slot.get("speculative") for slot in slots] != [self.mode.speculates]:
            wanted = "does not speculate" if self.mode.speculates else "speculates"
            raise ModelError(f"llama-server ({self.mode.name}) {wanted}:\n{last_lines(self._log)}")

    def answer(self, prompt: Sequence[int], sampling: Sampling, seed: int, n_tokens: int) -> Reply:
        """The answer to token ids, read from the first one on.

        Raises: GenerationError if it is refused or broken off; Interrupted.
        """
        question = {
            "prompt": list(prompt),
            "n_predict": n_tokens,
            "seed": seed,
            "cache_prompt": False,
            "return_tokens": True,
            **_sampler(sampling),
        }
        reply = self._answered("POST", "/completion", question)
        try:
            timings = reply["timings"]
            found = Reply(
                Timings(
                    prompt_n=timings["prompt_n"],
                    prompt_ms=timings["prompt_ms"],
                    predicted_n=timings["predicted_n"],
                    predicted_ms=timings["predicted_ms"],
                    drafted=timings.get("draft_n", 0),
                    accepted=timings.get("draft_n_accepted", 0),
                ),
                tuple(reply["tokens"]),
                reply["stop_type"],
            )
        except (KeyError, TypeError) as error:
            raise GenerationError(f"llama-server ({self.mode.name}) answered without {error}") from error
        if found.stop_type not in ("eos", "limit") or reply.get("truncated"):
            raise GenerationError(f"llama-server ({self.mode.name}) broke an answer off: {found.stop_type}")
        if found.timings.prompt_n != len(prompt):
            raise GenerationError(
                f"llama-server ({self.mode.name}) read {found.timings.prompt_n} tokens of a prompt of {len(prompt)}"
            )
        return found

    def _answered(self, method: str, path: str, body: object = None) -> Any:
        try:
            status, answer = self._ask(method, path, body)
        except (OSError, HTTPException, ValueError) as error:
            self._children.check(_STOP_ARRIVES_S)
            raise GenerationError(
                f"llama-server ({self.mode.name}) broke off ({error!r}):\n{last_lines(self._log)}"
            ) from error
        if status != 200:
            raise GenerationError(f"llama-server ({self.mode.name}) refused {path} with status {status}: {answer}")
        return answer

    def _ask(self, method: str, path: str, body: object = None) -> tuple[int, Any]:
        connection = HTTPConnection(_HOST, self._port)
        try:
            sent = None if body is None else json.dumps(body)
            connection.request(method, path, sent, {"Content-Type": "application/json"})
            response = connection.getresponse()
            return response.status, json.loads(response.read())
        finally:
            connection.close()


def _arguments(mode: ServerMode, models: tuple[Path, Path], info: EngineInfo, port: int) -> list[str]:
    target, draft = models
    threads, layers = str(info.n_threads), _layers(info.target.n_gpu_layers)
    arguments = ["--host", _HOST, "--port", str(port), "--model", str(target), "--ctx-size", str(info.n_ctx)]
    arguments += ["--threads", threads, "--gpu-layers", layers, "--parallel", "1", "--slots"]
    # Answers kept for other questions would only take memory.
    arguments += ["--cache-ram", "0", "--log-colors", "off"]
    if mode.with_draft:
        draft_layers = layers if info.draft is None else _layers(info.draft.n_gpu_layers)
        arguments += ["--spec-draft-model", str(draft), "--spec-draft-threads", threads]
        arguments += ["--spec-draft-ngl", draft_layers]
    return [*arguments, *mode.options]


def _layers(number: int) -> str:
    return "all" if number < 0 else str(number)


def _sampler(sampling: Sampling) -> dict[str, object]:
    """The sampler chain as /completion takes it, nothing left to the server's own defaults."""
    return {
        "samplers": [name.value for name in sampling.samplers],
        "temperature": sampling.temperature,
        "top_k": sampling.top_k,
        "top_p": sampling.top_p,
        "min_p": sampling.min_p,
        "typical_p": sampling.typical_p,
        "top_n_sigma": sampling.top_n_sigma,
        "repeat_penalty": sampling.repeat_penalty,
        "frequency_penalty": sampling.frequency_penalty,
        "presence_penalty": sampling.presence_penalty,
        "repeat_last_n": sampling.repeat_last_n,
    }


def _free_port() -> int:
    with socket.socket() as found:
        found.bind((_HOST, 0))
        port: int = found.getsockname()[1]
        return port
