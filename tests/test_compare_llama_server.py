"""scripts/compare_llama_server.py against a llama-server that is made up: it answers with timings known beforehand."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from statistics import geometric_mean
from typing import Any

import compare_llama_server
import pytest
from llama_server.build import built_server
from llama_server.children import Children
from llama_server.figures import ServerRow, speeds
from llama_server.server import MODES, PLAIN, Reply, Server, ServerMode, Timings

from specdesk.bench.rows import Mode
from specdesk.core.sampling import Sampling
from specdesk.engine.client import EngineInfo, ModelInfo
from specdesk.errors import GenerationError, ModelError, NetworkError, SpecdeskError, UsageError
from specdesk.paths import builds_dir, home
from tests.bench.samples import row
from tests.cli.shell import TIMEOUT_S, lines
from tests.tiny.gguf_models import TinyPair

SCRIPT = Path(compare_llama_server.__file__)
SHORT, LONG = "Hello", "Hello again, and again, and once more. " * 3
DRAFT, DRAFT_8, NGRAM = MODES[1:]

FAKE = """
import json, os, signal, sys
from http.server import BaseHTTPRequestHandler, HTTPServer

folder, faults, arguments = sys.argv[1], json.loads(sys.argv[2]), sys.argv[3:]
mode = (
    "draft 8" if "--spec-draft-n-max" in arguments
    else "draft" if "draft-simple" in arguments
    else "ngram" if "ngram-simple" in arguments
    else "plain"
)
PROMPT_MS = {"plain": 100, "draft": 150, "draft 8": 130, "ngram": 90}
SHORT_MS = {"plain": 1000, "draft": 450, "draft 8": 370, "ngram": 1250}
LONG_MS = SHORT_MS | {"ngram": 200}

def note(name, **what):
    with open(os.path.join(folder, name), "a") as file:
        file.write(json.dumps({"mode": mode, **what}) + "\\n")

class Handler(BaseHTTPRequestHandler):
    ready = False

    def do_GET(self):
        if self.path == "/slots":
            return self.send([{"speculative": mode != "plain" and faults.get(mode) != "does not speculate"}])
        Handler.ready, before = True, Handler.ready
        self.send({}, 200 if before else 503)

    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        note("asked", **asked)
        n = len(asked["prompt"])
        fault = faults.get(mode) if n > 100 else None
        if fault == "breaks off":
            print("a crash", flush=True)
            os._exit(1)
        if fault == "presses ctrl-c":
            os.kill(os.getppid(), signal.SIGINT)
            signal.pause()
        timings = {
            "prompt_n": n - (fault == "reads less"), "prompt_ms": PROMPT_MS[mode],
            "predicted_n": 11, "predicted_ms": (LONG_MS if n > 100 else SHORT_MS)[mode],
        }
        if mode.startswith("draft"):
            timings |= {"draft_n": 8, "draft_n_accepted": 5}
        self.send({"tokens": [5] * 11, "stop_type": "none" if fault == "stops" else "limit", "timings": timings})

    def send(self, answer, status=200):
        body = json.dumps(answer).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

note("started", pid=os.getpid(), arguments=arguments, spin=os.environ.get("GOMP_SPINCOUNT"),
     llama=[name for name in os.environ if name.startswith("LLAMA_")])
if faults.get(mode) == "dies":
    print("loading\\nthis model is not to its taste")
    sys.exit(7)
HTTPServer(("127.0.0.1", int(arguments[arguments.index("--port") + 1])), Handler).serve_forever()
"""


class Fake:
    """An executable that is told what goes wrong, by mode, and what it noted."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.path = folder / "llama-server"
        self.fault({})

    def fault(self, faults: dict[str, str]) -> None:
        (self.folder / "fake.py").write_text(FAKE)
        words = (sys.executable, "-IS", self.folder / "fake.py", self.folder, json.dumps(faults))
        self.path.write_text("#!/bin/sh\nexec " + " ".join(f"'{word}'" for word in words) + ' "$@"\n')
        self.path.chmod(0o755)

    def notes(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / name).read_text().splitlines()]

    def all_gone(self) -> bool:
        def gone(pid: int) -> bool:
            try:
                os.kill(pid, 0)
            except ProcessLookupError:
                return True
            return False

        return all(gone(started["pid"]) for started in self.notes("started"))


@pytest.fixture
def fake(tmp_path: Path) -> Fake:
    folder = tmp_path / "fake"
    folder.mkdir()
    return Fake(folder)


class TestScript:
    """As a user runs it."""

    @staticmethod
    def run(fake: Fake, pair: TinyPair, tmp_path: Path, *options: str) -> subprocess.CompletedProcess[str]:
        prompts = tmp_path / "own.jsonl"
        asked = [{"id": 1, "category": "greeting", "turns": [SHORT, "What?"]}]
        asked.append({"id": 2, "category": "greeting", "turns": [LONG]})
        prompts.write_text("\n".join(map(json.dumps, asked)))
        words = (sys.executable, SCRIPT, pair.target, pair.draft, "--server", fake.path, "--prompts", prompts)
        return subprocess.run(
            [*words, "-n", "11", "-t", "0.5", *options], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )

    def test_the_table_says_what_was_measured(self, fake: Fake, quantized_pair: TinyPair, tmp_path: Path) -> None:
        data = tmp_path / "found.json"
        done = self.run(fake, quantized_pair, tmp_path, "--seed", "5", "--json", str(data))
        assert done.returncode == 0, done.stderr
        assert fake.all_gone()
        found = json.loads(data.read_text())

        first, second = found["prompts"]
        assert first["servers"] == pytest.approx({"plain": 10, "draft": 20, "draft 8": 25, "ngram": 8})
        assert second["servers"] == pytest.approx({"plain": 10, "draft": 20, "draft 8": 25, "ngram": 50})
        assert (first["best_mode"], second["best_mode"]) == ("draft 8", "ngram")
        own = {
            (each["prompt"], each["mode"]): each["generated_tokens"] / each["decode_s"]
            for each in found["specdesk"]["rows"]
        }
        auto = [own[prompt, "speculative"] for prompt in ("1", "2")]
        mean = geometric_mean([auto[0] / 25, auto[1] / 50])
        _, heading, line, last = lines(done.stdout)
        assert heading.split() == ["tokens/s", "plain", "draft", "draft", "8", "ngram", "best", "plain", "auto", "best"]
        rates = [10, 20, 25, 20, geometric_mean([25, 50]), geometric_mean([own["1", "plain"], own["2", "plain"]])]
        rates.append(geometric_mean(auto))
        assert line.split() == ["greeting", *(f"{rate:.1f}" for rate in rates), f"{mean:.2f}x"]
        assert last == f"{mean:.2f}x llama-server's best mode, the geometric mean over 2 prompts"
        assert "llama-server (ngram) drafted nothing" in done.stderr
        assert "(draft)" not in done.stderr

        asked = [each for each in fake.notes("asked") if len(each["prompt"]) > compare_llama_server.WARM_UP]
        assert [each["mode"] for each in asked] == ["plain", "draft", "draft 8", "ngram"] * 2
        assert all(each["prompt"] == asked[0]["prompt"] for each in asked[:4])
        assert len(asked[0]["prompt"]) == found["specdesk"]["rows"][0]["prompt_tokens"]
        wanted = {"n_predict": 11, "seed": 5, "cache_prompt": False, "temperature": 0.5, "top_k": 40, "min_p": 0.05}
        assert all({key: each[key] for key in wanted} == wanted for each in asked)
        started = fake.notes("started")
        threads = str(found["specdesk"]["engine"]["n_threads"])
        for each in started:
            options = dict(zip(each["arguments"], each["arguments"][1:], strict=False))
            assert (options["--threads"], options["--ctx-size"]) == (threads, "4096")
            assert ("--spec-draft-model" in options) == each["mode"].startswith("draft")

    def test_ctrl_c_tells_what_was_measured(self, fake: Fake, quantized_pair: TinyPair, tmp_path: Path) -> None:
        fake.fault({"draft": "presses ctrl-c"})
        done = self.run(fake, quantized_pair, tmp_path)
        assert done.returncode == 130, done.stderr
        assert fake.all_gone()
        assert lines(done.stdout)[-1].endswith("over 1 prompt")
        assert "stopped after 6 of 12 answers" in done.stderr

    def test_a_server_that_breaks_off_is_told_and_all_end(
        self, fake: Fake, quantized_pair: TinyPair, tmp_path: Path
    ) -> None:
        fake.fault({"ngram": "breaks off"})
        done = self.run(fake, quantized_pair, tmp_path)
        assert done.returncode == 1
        assert fake.all_gone()
        assert lines(done.stdout)[-1].endswith("over 1 prompt")
        assert "llama-server (ngram) broke off" in done.stderr
        assert lines(done.stderr)[-1] == "  a crash"
        assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    ("options", "code", "said"),
    [
        (("-n", "1"), 2, "-n takes a number from 2"),
        (("--rounds", "0"), 2, "not 0"),
        (("--seed", "-1"), 2, "not -1"),
        (("-t", "-1"), 2, "temperature must be 0 or more, not -1"),
        (("--task", "poetry"), 2, "no task 'poetry'"),
        (("--prompts", "none.jsonl"), 2, "cannot read none.jsonl"),
        (("--json", "nowhere/found.json"), 5, "cannot write nowhere/found.json"),
        (("--json", "TARGET"), 2, "asked for twice"),
        (("--server", "nowhere/llama-server"), 2, "cannot start nowhere/llama-server"),
    ],
)
def test_what_cannot_be_done_is_said_in_one_line(
    quantized_pair: TinyPair, capfd: pytest.CaptureFixture[str], options: tuple[str, ...], code: int, said: str
) -> None:
    models = [str(quantized_pair.target), str(quantized_pair.draft)]
    asked = [models[0] if option == "TARGET" else option for option in options]
    assert compare_llama_server.main([*models, *asked]) == code
    out, err = capfd.readouterr()
    assert out == ""
    assert said in lines(err)[-1]


def test_a_model_that_is_not_there(quantized_pair: TinyPair, capfd: pytest.CaptureFixture[str]) -> None:
    assert compare_llama_server.main([str(quantized_pair.target), "none.gguf"]) == 3
    assert "there is no file none.gguf" in capfd.readouterr().err


INFO = EngineInfo(ModelInfo("target", "t.gguf", -1), ModelInfo("draft", "d.gguf", 2), n_ctx=128, n_threads=3)


class TestServer:
    @pytest.fixture
    def children(self) -> Iterator[Children]:
        with Children() as children:
            yield children

    @staticmethod
    def start(fake: Fake, mode: ServerMode, children: Children) -> Server:
        models = Path("t.gguf"), Path("d.gguf")
        return Server(fake.path, mode, models, INFO, fake.folder, children)

    def test_one_that_dies_at_its_start_shows_its_log(self, fake: Fake, children: Children) -> None:
        fake.fault({"draft": "dies"})
        server = self.start(fake, DRAFT, children)
        with pytest.raises(ModelError, match=r"\(draft\) ended with code 7:\n  loading\n  this model is not to its"):
            server.wait_until_ready()

    def test_one_that_does_not_speculate_as_asked_is_no_comparison(self, fake: Fake, children: Children) -> None:
        fake.fault({"ngram": "does not speculate"})
        server = self.start(fake, NGRAM, children)
        with pytest.raises(ModelError, match=r"\(ngram\) does not speculate"):
            server.wait_until_ready()

    @pytest.mark.parametrize(
        ("fault", "said"),
        [("stops", "broke an answer off: none"), ("reads less", "read 199 tokens of a prompt of 200")],
    )
    def test_half_an_answer_is_none(self, fake: Fake, children: Children, fault: str, said: str) -> None:
        fake.fault({"plain": fault})
        server = self.start(fake, PLAIN, children)
        server.wait_until_ready()
        with pytest.raises(GenerationError, match=said):
            server.answer([1] * 200, Sampling(), 1, 11)

    def test_layers_on_the_gpu_are_those_of_specdesk(self, fake: Fake, children: Children) -> None:
        command = " ".join(self.start(fake, DRAFT_8, children).command)
        assert "--gpu-layers all " in command
        assert "--spec-draft-ngl 2 " in command

    def test_variables_that_are_options_of_the_server_are_kept_from_it(
        self, fake: Fake, children: Children, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("GOMP_SPINCOUNT", "500")
        monkeypatch.setenv("LLAMA_ARG_THREADS", "7")
        self.start(fake, PLAIN, children).wait_until_ready()
        [started] = fake.notes("started")
        assert (started["spin"], started["llama"]) == ("500", [])


def server_row(
    mode: ServerMode, number: int, predicted_ms: float, *, predicted_n: int = 11, read_ms: float = 0.0
) -> ServerRow:
    reply = Reply(Timings(9, 100.0, predicted_n, predicted_ms, 0, 0), (1,) * predicted_n, "limit")
    return ServerRow("code", "a", number, mode.name, reply, read_ms)


OWN = [
    row(number=number, mode=mode, decode_s=decode_s)
    for number, seconds in enumerate(((4.0, 2.0), (4.0, 1.0), (8.0, 0.5)))
    for mode, decode_s in zip(Mode, seconds, strict=True)
]
"""Three rounds, answers of 4 tokens: plainly 1 token/s in the median, speculating 4."""


class TestFigures:
    def test_medians_are_compared_and_the_best_mode_is_that_of_the_median(self) -> None:
        times_ms = {PLAIN: (1000, 1000, 10), DRAFT: (500, 5000, 500), DRAFT_8: (400, 800, 800), NGRAM: (2000,) * 3}
        rows = [server_row(mode, number, ms) for mode in MODES for number, ms in enumerate(times_ms[mode])]
        [found] = speeds(rows, OWN)
        assert found.servers == {"plain": 10.0, "draft": 20.0, "draft 8": 12.5, "ngram": 5.0}
        assert (found.best_mode, found.plain, found.auto, found.ratio) == ("draft", 1.0, 4.0, 0.2)

    def test_what_the_draft_reads_counts(self) -> None:
        assert server_row(DRAFT, 0, 400.0, read_ms=100.0).tokens_per_s == 20.0

    def test_an_answer_of_one_token_is_not_timed(self) -> None:
        rows = [server_row(mode, 0, 0.001, predicted_n=1 if mode is NGRAM else 11) for mode in MODES]
        assert speeds(rows, OWN) == []

    def test_a_prompt_without_an_answer_of_specdesk_is_not_compared(self) -> None:
        rows = [server_row(mode, 0, 1000.0) for mode in MODES]
        assert speeds(rows, [replace(each, prompt="b") for each in OWN]) == []


class TestBuild:
    """With a pip and a cmake that only play."""

    @pytest.fixture(autouse=True)
    def tools(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.bin, self.calls, self.builds = tmp_path / "bin", tmp_path / "calls", tmp_path / "builds"
        source = tmp_path / "llama_cpp_python-1" / "vendor" / "llama.cpp"
        source.mkdir(parents=True)
        (source / "CMakeLists.txt").touch()
        with tarfile.open(tmp_path / "source.tar.gz", "w:gz") as tar:
            tar.add(source.parents[1], "llama_cpp_python-1")
        self.bin.mkdir()
        self.tool("python", f'for last; do :; done; cp "{tmp_path}/source.tar.gz" "$last/"')
        self.tool("cmake", 'case $1 in --build) mkdir -p "$2/bin"; touch "$2/bin/llama-server" ;; esac')
        monkeypatch.setattr(sys, "executable", str(self.bin / "python"))
        monkeypatch.setenv("PATH", f"{self.bin}:/bin:/usr/bin")
        monkeypatch.setattr("llama_server.build.version", lambda _: "1+cu124")
        monkeypatch.setattr("shutil.which", lambda name: str(found) if (found := self.bin / name).exists() else None)
        monkeypatch.delenv("CMAKE_ARGS", raising=False)

    def tool(self, name: str, does: str) -> None:
        path = self.bin / name
        path.write_text(f'#!/bin/sh\necho "{name} $*" >>"{self.calls}"\n{does}\n')
        path.chmod(0o755)

    def build(self) -> Path:
        with Children() as children:
            return built_server(self.builds, children, lambda _: None)

    def test_it_is_built_once_from_the_sources_of_the_installed_version(self) -> None:
        server = self.build()
        assert server == self.builds / "1" / "build" / "bin" / "llama-server"
        pip, configure, compile_ = self.calls.read_text().splitlines()
        assert "-m pip download llama-cpp-python==1 --no-binary llama-cpp-python --no-deps" in pip
        assert configure.startswith(
            f"cmake -S {self.builds}/1/source -B {self.builds}/1/build -DCMAKE_BUILD_TYPE=Release"
        )
        assert "--target llama-server" in compile_
        self.calls.unlink()
        assert self.build() == server
        assert not self.calls.exists()

    def test_one_for_a_gpu_is_another(self, monkeypatch: pytest.MonkeyPatch) -> None:
        server = self.build()
        monkeypatch.setenv("CMAKE_ARGS", "-DGGML_CUDA=on")
        assert self.build() != server
        assert "-DGGML_CUDA=on" in self.calls.read_text()

    def test_builds_lie_where_what_can_be_made_again_lies(
        self, own_home: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        assert builds_dir() == home() / "builds"
        monkeypatch.delenv("SPECDESK_HOME")
        assert builds_dir().is_relative_to(own_home)
        assert not builds_dir().is_relative_to(home())

    def test_without_cmake(self) -> None:
        (self.bin / "cmake").unlink()
        with pytest.raises(UsageError, match="no cmake"):
            self.build()

    def test_a_download_that_fails(self) -> None:
        self.tool("python", "echo ERROR: no connection; exit 1")
        with pytest.raises(NetworkError, match="llama-cpp-python==1:\n  ERROR: no connection"):
            self.build()

    def test_a_compile_that_fails_is_taken_up_again(self) -> None:
        self.tool("cmake", "echo no compiler; exit 1")
        with pytest.raises(SpecdeskError, match=r"does not build .*:\n  no compiler"):
            self.build()
        self.tool("cmake", 'case $1 in --build) mkdir -p "$2/bin"; touch "$2/bin/llama-server" ;; esac')
        self.build()
        assert self.calls.read_text().count("pip download") == 1
