"""Measures specdesk's speculation against that of llama.cpp's own server: same machine, models, prompts and threads.

    python scripts/compare_llama_server.py TARGET DRAFT [OPTION ...]

Each prompt is answered in turn by llama-server in four modes, each in a process of its own: plain, with the draft model
as it drafts by default, with up to 8 tokens while the draft is sure, and from n-grams seen before; then by specdesk,
plainly and with as many draft tokens as pay. Tokens, sampler chain, seed, context and threads are the same for all.
Printed are tokens per second, and how specdesk compares with the mode of llama-server that was best for each prompt.
Of a conversation only the first question is asked. docs/performance.md tells what is timed. Let nothing else run
meanwhile.

llama-server is built once, from the sources of the llama-cpp-python that is installed and with CMAKE_ARGS, if that is
set; --server names one that is there. No server outlives the script. Ctrl-C prints what was measured until then.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import tempfile
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from pathlib import Path

from llama_server.build import built_server
from llama_server.children import Children
from llama_server.figures import ServerRow, mean_line, record, server_rows, speeds, table
from llama_server.server import MODES, Server

from specdesk.bench.record import Findings, machine_facts
from specdesk.bench.rows import Mode, Row
from specdesk.bench.runner import Effort, measure
from specdesk.bench.tasks import chosen, own_prompts, read_prompts
from specdesk.cli.bench_output import check_writable, write
from specdesk.cli.console import Waiting, report_console, say
from specdesk.cli.interrupts import stopping
from specdesk.core.interrupted import Interrupted
from specdesk.core.sampling import Sampling
from specdesk.engine.client import Engine, Message, StopFlag
from specdesk.engine.gguf import check_gguf
from specdesk.errors import EXIT_INTERRUPTED, SpecdeskError, UsageError
from specdesk.paths import builds_dir
from specdesk.settings import EngineSettings

WARM_UP = 16
"""Tokens of a prompt, and of an answer to it, before anything is timed."""


@dataclass(slots=True)
class Found:
    """What was measured so far."""

    servers: list[ServerRow] = field(default_factory=list)
    own: list[Row] = field(default_factory=list)


def main(arguments: Sequence[str] | None = None) -> int:
    """Exit codes as specdesk's."""
    asked = _parser().parse_args(arguments)
    stop = StopFlag()
    children = Children()

    def end() -> None:
        stop.set()
        children.end()

    try:
        effort = _effort(asked)
        check_writable(asked.json, None, asked.prompts, asked.target, asked.draft)
        for model in (asked.target, asked.draft):
            check_gguf(model)
        # A terminal that is closed must not leave servers behind; nohup does as it says.
        if signal.getsignal(signal.SIGHUP) is not signal.SIG_IGN:
            signal.signal(signal.SIGHUP, lambda *_: os.kill(os.getpid(), signal.SIGTERM))
        with stopping(end), children, Waiting("looking for llama-server ...") as waiting:
            _compare(asked, effort, stop, children, waiting)
    except SpecdeskError as error:
        print(f"specdesk: {error}", file=sys.stderr)  # noqa: T201
        return error.exit_code
    except Interrupted:
        return EXIT_INTERRUPTED
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description="Measure specdesk's speculation against that of llama.cpp's own server, with the same models.",
        epilog="Exit codes: 0 measured, 1 an answer or the build failed, 2 usage, 3 model or a server that does not "
        "start, 4 network, 5 storage, 130 stopped with Ctrl-C: what was measured until then is printed and written.",
    )
    parser.add_argument("target", type=Path, metavar="TARGET", help="a GGUF file")
    parser.add_argument("draft", type=Path, metavar="DRAFT", help="a GGUF file that drafts for it")
    parser.add_argument("--task", action="append", default=[], metavar="NAME", help="only this task; may be repeated")
    parser.add_argument("--prompts", type=Path, metavar="FILE", help="own prompts, as for specdesk bench")
    parser.add_argument("--quick", action="store_true", help="one prompt of each task, 64 tokens unless told")
    parser.add_argument("-n", type=int, metavar="N", help="tokens of an answer at most (default: 160)")
    parser.add_argument("-t", type=float, default=0.0, metavar="T", help="temperature; 0, the default, is greedy")
    parser.add_argument("--rounds", type=int, default=1, metavar="N", help="how often all is repeated (default: 1)")
    parser.add_argument("--seed", type=int, default=1, metavar="N", help="of the random numbers (default: 1)")
    parser.add_argument("--build-dir", type=Path, metavar="DIR", help="where llama-server is built (default: a cache)")
    parser.add_argument("--server", type=Path, metavar="PATH", help="a llama-server, instead of building one")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write raw figures of every answer there")
    return parser


def _effort(asked: argparse.Namespace) -> Effort:
    """Raises UsageError for a value that cannot be honoured."""
    n_tokens = (64 if asked.quick else 160) if asked.n is None else asked.n
    # llama-server does not time the first token, and takes the last seed for none.
    for name, value, least, most in (
        ("-n", n_tokens, 2, 2**31 - 1),
        ("--rounds", asked.rounds, 1, 1000),
        ("--seed", asked.seed, 0, 2**32 - 2),
    ):
        if not least <= value <= most:
            raise UsageError(f"{name} takes a number from {least} to {most}, not {value}")
    try:
        sampling = Sampling(asked.t)
    except ValueError as error:
        raise UsageError(str(error)) from error
    prompts = own_prompts() if asked.prompts is None else read_prompts(asked.prompts)
    first = [replace(prompt, turns=prompt.turns[:1]) for prompt in chosen(prompts, asked.task, one_each=asked.quick)]
    return Effort(first, sampling, asked.seed, None, n_tokens, asked.rounds)


def _compare(asked: argparse.Namespace, effort: Effort, stop: StopFlag, children: Children, waiting: Waiting) -> None:
    """Measure, and tell what was found, also where something ends it early."""
    builds = builds_dir() / "llama-server" if asked.build_dir is None else asked.build_dir
    binary = asked.server or built_server(builds, children, say)
    waiting.now("loading models ...")
    found = Found()
    with ExitStack() as open_now:
        engine = open_now.enter_context(Engine(EngineSettings(asked.target, asked.draft), say, stop))
        findings = Findings(effort, engine.info, machine_facts(engine), None)
        logs = Path(open_now.enter_context(tempfile.TemporaryDirectory()))
        servers = []
        for mode in MODES:
            waiting.now(f"starting llama-server ({mode.name}) ...")
            server = Server(binary, mode, (asked.target, asked.draft), engine.info, logs, children)
            server.wait_until_ready()
            servers.append(server)
        try:
            _measure(engine, servers, effort, found, waiting)
        finally:
            waiting.end()
            if found.servers:
                _tell(found, findings, servers, asked.json)


def _measure(engine: Engine, servers: Sequence[Server], effort: Effort, found: Found, waiting: Waiting) -> None:
    """Every mode of llama-server, then specdesk plain, then specdesk auto: for each prompt, round after round."""
    own = measure(engine, effort, waiting.now)
    for prompt in effort.prompts:
        ids = engine.prompt_ids([Message("user", prompt.turns[0])])
        for number in range(effort.rounds):
            replies = []
            for server in servers:
                waiting.now(f"{prompt.task}, {prompt.id}: llama-server ({server.mode.name})")
                if not found.servers:
                    server.answer(ids[:WARM_UP], effort.sampling, effort.seed, WARM_UP)
                replies.append((server.mode, server.answer(ids, effort.sampling, effort.seed, effort.max_tokens)))
            found.servers += server_rows(prompt, number, replies)
            found.own += [next(own), next(own)]  # plain, then auto, of this prompt and round


def _tell(found: Found, findings: Findings, servers: Sequence[Server], as_json: Path | None) -> None:
    """Print the table and write the file. Raises StorageError if the disk refuses."""
    compared = speeds(found.servers, found.own)
    if compared:
        console = report_console()
        console.print(table(compared))
        console.print(f"\n{mean_line(compared)}")
    if as_json is not None:
        data = {
            "specdesk": findings.record(found.own),
            "commands": {server.mode.name: server.command for server in servers},
            "server_rows": [row.record() for row in found.servers],
            "prompts": record(compared),
        }
        write(as_json, json.dumps(data, allow_nan=False) + "\n")
    n_asked, n_answers = len(findings.effort.prompts), len(found.servers) + len(found.own)
    n_wanted = findings.effort.n_answers * (len(MODES) + len(Mode)) // len(Mode)
    if n_answers < n_wanted:
        say(f"stopped after {n_answers} of {n_wanted} answers")
    elif len(compared) < n_asked:
        say(f"{n_asked - len(compared)} of {n_asked} prompts are left out: an answer of one token is not timed")
    for mode in MODES:
        if mode.speculates and not any(row.reply.timings.drafted for row in found.servers if row.mode == mode.name):
            say(f"llama-server ({mode.name}) drafted nothing in any of these answers")


if __name__ == "__main__":
    sys.exit(main())
