"""`specdesk run` from the shell, on the tiny pair through the real llama.cpp."""

from __future__ import annotations

import json
import os
import re
import signal
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pexpect
import pytest
from gguf import TokenType

from tests.cli.shell import COMMAND, TIMEOUT_S, answer, lines, specdesk, started
from tests.tiny.gguf_models import CHAT, CHATML, DRAFT, TARGET, TinyPair, write

STATS = {
    "prompt_tokens", "generated_tokens", "target_passes", "widths", "tokens_per_pass", "drafted", "accepted",
    "rejected", "ignored", "acceptance_rate", "prompt_s", "decode_s", "tokens_per_s", "plain_tokens_per_s", "speedup",
}  # fmt: skip


@pytest.fixture(scope="session")
def chat_pair(tmp_path_factory: pytest.TempPathFactory) -> TinyPair:
    """The tiny pair with a chat template."""
    folder = tmp_path_factory.mktemp("chat")
    return TinyPair(
        *(
            write(folder / f"{name}.gguf", replace(model, vocabulary=CHAT, chat_template=CHATML, n_ctx_train=8192))
            for name, model in (("target", TARGET), ("draft", DRAFT))
        )
    )


@pytest.fixture
def pair(chat_pair: TinyPair) -> Sequence[object]:
    """With a fixed lookahead: drafting for models this small hardly ever pays."""
    return ("--target", chat_pair.target, "--draft", chat_pair.draft, "-k", 4, "--threads", 1, "--ctx", 256)


def test_the_answer_alone_goes_to_standard_output(pair: Sequence[object]) -> None:
    options = ("Hello", *pair, "-n", 40, "--seed", 1)
    plain, as_json = specdesk("run", *options), answer(*options)
    assert plain.returncode == 0
    assert plain.stdout.rstrip("\n") == as_json["text"].rstrip("\n")
    (summary,) = lines(plain.stderr)
    assert summary.startswith("specdesk: 40 tokens | ")
    assert "speedup" in summary


def test_json_tells_everything_and_adds_up(pair: Sequence[object], chat_pair: TinyPair) -> None:
    result = answer("Hello", *pair, "-n", 60, "-k", 4, "--seed", 3, "-t", 1, "--top-k", 10, "--stop", "~~~")
    assert set(result) == {
        "text", "token_ids", "stop_reason", "pair", "target", "draft", "settings", "left_out", "stats",
    }  # fmt: skip
    assert (result["stop_reason"], result["pair"]) == ("length", None)
    assert (result["target"], result["draft"]) == (chat_pair.target.name, chat_pair.draft.name)
    settings, stats = result["settings"], result["stats"]
    assert (settings["seed"], settings["lookahead"], settings["temperature"]) == (3, 4, 1)
    assert (settings["top_k"], settings["stop"], settings["n_ctx"], settings["max_tokens"]) == (10, ["~~~"], 256, 60)
    assert settings["samplers"] == ["penalties", "top_n_sigma", "top_k", "typ_p", "top_p", "min_p", "temperature"]
    assert set(stats) == STATS
    assert len(result["token_ids"]) == stats["generated_tokens"] == 60
    assert stats["drafted"] == stats["accepted"] + stats["rejected"] + stats["ignored"] > 0
    assert stats["tokens_per_pass"] == pytest.approx(60 / stats["target_passes"])
    assert stats["acceptance_rate"] == pytest.approx(stats["accepted"] / (stats["accepted"] + stats["rejected"]))
    assert stats["tokens_per_s"] == pytest.approx(60 / stats["decode_s"])
    assert stats["speedup"] == pytest.approx(stats["tokens_per_s"] / stats["plain_tokens_per_s"])


def test_same_seed_same_answer_other_seed_another(pair: Sequence[object]) -> None:
    def ids(seed: int) -> list[int]:
        return list(answer("Hello", *pair, "-n", 30, "-t", 1, "--seed", seed)["token_ids"])

    assert ids(1) == ids(1)
    assert ids(1) != ids(2)


def test_a_banned_token_is_never_written(pair: Sequence[object]) -> None:
    options = (*pair, "-n", 40, "-t", 1, "--seed", 3)
    first = answer("Hello", *options)["token_ids"]
    banned = max(set(first), key=first.count)
    done = specdesk("run", "--json", "Hello", *options, "--logit-bias", f"{banned}-inf")
    # Strictly JSON: Python's reader alone would take -Infinity.
    result = json.loads(done.stdout, parse_constant=pytest.fail)
    assert banned not in result["token_ids"]
    assert result["settings"]["logit_bias"] == [[banned, "-inf"]]


@pytest.mark.parametrize("spelling", ["top_k;temperature", "top-k,temp", " TopK ; TEMP"])
def test_the_samplers_asked_for_are_applied_and_told(pair: Sequence[object], spelling: str) -> None:
    """Top-k of one is greedy, and does nothing where it is left out."""
    options = (*pair, "-n", 20, "-k", 0)
    greedy = answer("Hello", *options, "-t", 0)
    result = answer("Hello", *options, "-t", 5, "--top-k", 1, "--seed", 1, "--samplers", spelling)
    assert result["settings"]["samplers"] == ["top_k", "temperature"]
    assert result["token_ids"] == greedy["token_ids"]
    without = answer("Hello", *options, "-t", 5, "--top-k", 1, "--seed", 1, "--samplers", "temperature")
    assert without["token_ids"] != greedy["token_ids"]


def test_coupled_writes_the_same_with_and_without_a_draft(pair: Sequence[object]) -> None:
    """On F32 a wider pass may round differently; this seed meets no tie."""
    options = (*pair, "-n", 40, "-t", 1, "--seed", 3, "--verify", "coupled")
    answers = [answer("Hello", *options, "-k", k) for k in (0, 1, 4)]
    assert len({tuple(each["token_ids"]) for each in answers}) == 1
    assert answers[2]["stats"]["accepted"] > 0


def test_without_a_seed_the_one_used_is_told(pair: Sequence[object]) -> None:
    first = answer("Hello", *pair, "-n", 20, "-t", 1)
    again = answer("Hello", *pair, "-n", 20, "-t", 1, "--seed", first["settings"]["seed"])
    assert again["token_ids"] == first["token_ids"]


def test_plain_is_k_0_and_loads_no_draft(pair: Sequence[object]) -> None:
    result = answer("Hello", *pair, "-n", 30, "-k", 0)
    stats = result["stats"]
    assert result["draft"] is None
    assert (stats["drafted"], stats["target_passes"], stats["tokens_per_pass"]) == (0, 30, 1)
    assert stats["acceptance_rate"] is None


def test_a_target_alone_that_a_model_should_draft_for_decodes_plainly_and_says_so(chat_pair: TinyPair) -> None:
    options = ("Hello", "--target", chat_pair.target, "-n", 20, "--drafter", "model")
    done = specdesk("run", *options)
    assert done.returncode == 0
    assert "no draft model: decoding plainly" in lines(done.stderr)[0]
    assert answer(*options)["settings"]["most_drafted"] == 0


def test_as_many_as_pay_is_the_default(chat_pair: TinyPair) -> None:
    models = ("--target", chat_pair.target, "--draft", chat_pair.draft)
    settings = answer("Hello", *models, "-n", 5)["settings"]
    assert (settings["lookahead"], settings["most_drafted"], settings["drafter"]) == ("auto", 31, "cascade")
    assert settings["repeatable"] is False
    assert answer("Hello", *models, "-n", 5, "-k", "auto", "--seed", 1)["settings"]["repeatable"] is True


def test_text_seen_before_is_drafted(chat_pair: TinyPair, tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    again = "one two three four five six seven eight nine ten " * 4
    options = (again, "--raw", "--target", chat_pair.target, "-n", 40, "-k", 3, "--drafter", "suffix", "-t", 0)
    stats = answer(*options, "--trace", path)["stats"]
    assert stats["drafted"] > 0
    assert {json.loads(line)["drafter"] for line in path.read_text().splitlines()} <= {None, "suffix"}


def test_the_prompt_may_come_from_standard_input(pair: Sequence[object]) -> None:
    options = (*pair, "-n", 20, "--seed", 1)
    assert answer("-", *options, stdin="Grüße 🦜")["token_ids"] == answer("Grüße 🦜", *options)["token_ids"]


def test_standard_input_that_is_no_text_is_refused(pair: Sequence[object]) -> None:
    done = specdesk("run", "-", *pair, stdin=b"caf\xe9")
    assert (done.returncode, done.stdout) == (2, "")
    (line,) = lines(done.stderr)
    assert "not UTF-8" in line


def test_system_and_raw_change_what_is_asked(pair: Sequence[object]) -> None:
    counts = [
        answer("Hello", *pair, "-n", 1, *extra)["stats"]["prompt_tokens"]
        for extra in ((), ("--system", "Be brief."), ("--raw",))
    ]
    assert counts[1] > counts[0] >= counts[2]


def test_a_stop_string_is_not_part_of_the_answer(pair: Sequence[object]) -> None:
    whole = answer("Hello", *pair, "-n", 40, "--seed", 5)["text"]
    stop = whole[10:12]
    cut = answer("Hello", *pair, "-n", 40, "--seed", 5, "--stop", stop)
    assert cut["stop_reason"] == "stop"
    assert cut["text"] == whole[: whole.index(stop)]


def test_the_trace_has_a_line_per_target_pass_that_adds_up(pair: Sequence[object], tmp_path: Path) -> None:
    path = tmp_path / "trace.jsonl"
    result = answer("Hello", *pair, "-n", 60, "-k", 3, "--seed", 2, "-t", 1, "--trace", path)
    steps: list[dict[str, Any]] = [json.loads(line) for line in path.read_text().splitlines()]
    stats = result["stats"]
    assert len(steps) == stats["target_passes"]
    assert [t["id"] for step in steps for t in step["written"]] == result["token_ids"]
    decisions = [t["decision"] for step in steps for t in step["drafted"]]
    for name in ("accepted", "rejected", "ignored"):
        assert decisions.count(name) == stats[name]
    for step in steps:
        assert step["tokens_generated_in_single_target_pass"] == len(step["accepted_stream"]) == len(step["written"])
        assert step["drafted_tokens"] == [t["text"] for t in step["drafted"]]
        assert len(step["drafted"]) <= step["lookahead_k"] <= 3
        assert all(0 <= token["ahead"] < 1 for token in step["written"])
        own = [token["source"] in ("bonus", "plain") for token in step["written"]]
        assert [token["favoured"] is None for token in step["written"]] == own
        for token in step["drafted"]:
            assert 0 < token["q"] <= 1
            if token["p"] is None:
                assert token["decision"] == "ignored"
        assert step["step_s"] >= step["draft_s"] + step["target_s"] - 1e-9
    plain = [step for step in steps if not step["drafted"]]
    assert all(step["acceptance_rate"] is None and step["drafter"] is None for step in plain)
    known = [step["effective_latency_speedup"] for step in steps if step["effective_latency_speedup"] is not None]
    assert len(set(known)) > 2
    assert {step["distribution_parity"][:5] for step in steps} == {"exact"}


def test_colour_marks_who_wrote_what(pair: Sequence[object]) -> None:
    options = ("run", "Hello", *pair, "-n", 40, "--seed", 1, "-t", 1)
    plain = specdesk(*options).stdout
    coloured = specdesk(*options, "--color", "always").stdout
    assert "\x1b[" not in plain
    assert "\x1b[32m" in coloured
    assert "\x1b[9;31m" not in coloured
    rejected = specdesk(*options, "--color", "always", "--show-rejected").stdout
    assert "\x1b[9;31m" in rejected


def test_no_color_leaves_the_cues_that_are_no_colours(pair: Sequence[object]) -> None:
    shown = specdesk(
        "run",
        "Hello",
        *pair,
        "-n",
        40,
        "--seed",
        1,
        "-t",
        1,
        "--color",
        "always",
        "--show-rejected",
        env={"NO_COLOR": "1"},
    ).stdout
    assert "\x1b[9m" in shown
    assert "\x1b[1m" in shown
    assert "31m" not in shown
    assert "32m" not in shown


def test_rejected_tokens_without_colour_are_refused_aloud(pair: Sequence[object]) -> None:
    done = specdesk("run", "Hello", *pair, "-n", 20, "--show-rejected")
    assert done.returncode == 0
    assert "--show-rejected needs a terminal" in done.stderr


def test_verbose_shows_what_llama_cpp_says(pair: Sequence[object]) -> None:
    options = ("run", "Hello", *pair, "-n", 2)
    assert len(lines(specdesk(*options).stderr)) == 1
    assert "llama_model_loader" in specdesk(*options, "--verbose").stderr


@pytest.mark.parametrize(
    ("args", "code", "said"),
    [
        (["", "PAIR"], 2, "the prompt is empty"),
        (["  \n", "PAIR"], 2, "the prompt is empty"),
        (["-", "PAIR"], 2, "the prompt is empty"),
        ([], 2, "PROMPT"),
        (["x", "--pair", "qwen2.5-coder-1.5"], 2, '"qwen2.5-coder-1.5b"'),
        (["x", "--pair", "default", "--target", "a.gguf"], 2, "--pair and --target"),
        (["x", "--draft", "a.gguf"], 2, "--draft needs --target"),
        (["x", "PAIR", "-k", "-3"], 2, "-3"),
        (["x", "PAIR", "-k", "65"], 2, "65"),
        (["x", "PAIR", "-n", "0"], 2, "not 0"),
        (["x", "PAIR", "-n", "many"], 2, "--max-tokens"),
        (["x", "PAIR", "-t", "-1"], 2, "-1"),
        (["x", "PAIR", "-t", "nan"], 2, "nan"),
        (["x", "PAIR", "-t", "inf"], 2, "inf"),
        (["x", "PAIR", "--top-p", "0"], 2, "not 0"),
        (["x", "PAIR", "--top-p", "nan"], 2, "nan"),
        (["x", "PAIR", "--min-p", "2"], 2, "not 2"),
        (["x", "PAIR", "--top-k", "-1"], 2, "-1"),
        (["x", "PAIR", "--seed", "-1"], 2, "-1"),
        (["x", "PAIR", "--typical-p", "0"], 2, "not 0"),
        (["x", "PAIR", "--repeat-penalty", "0"], 2, "not 0"),
        (["x", "PAIR", "--presence-penalty", "nan"], 2, "nan"),
        (["x", "PAIR", "--repeat-last-n", "-2"], 2, "-2"),
        (["x", "PAIR", "--samplers", "top_k;dry"], 2, "there is no sampler 'dry', only penalties, top_n_sigma, top_k"),
        (["x", "PAIR", "--samplers", "xtc"], 2, "'xtc'"),
        (["x", "PAIR", "--samplers", "top_k;;temp"], 2, "there is no sampler ''"),
        (["x", "PAIR", "--samplers", ""], 2, "there is no sampler ''"),
        (["x", "PAIR", "--samplers", "top-k;temp;topk"], 2, "not 2 times: top_k"),
        (["x", "PAIR", "--logit-bias", "12"], 2, "12"),
        (["x", "PAIR", "--logit-bias", "12+inf"], 2, "inf"),
        (["x", "PAIR", "--verify", "guess"], 2, "guess"),
        (["x", "PAIR", "--threads", "0"], 2, "not 0"),
        (["x", "PAIR", "--ctx", "1"], 2, "not 1"),
        (["x", "PAIR", "--gpu-layers", "-2"], 2, "-2"),
        (["x", "PAIR", "--tensor-split", "1,x"], 2, "separated by commas"),
        (["x", "PAIR", "--tensor-split", "0,-0"], 2, "not all 0"),
        (["x", "PAIR", "--tensor-split", "1,nan"], 2, "nan"),
        (["x", "PAIR", "--main-gpu", "1", "--tensor-split", "1,1"], 2, "exclude each other"),
        (["x", "PAIR", "--cache-type-k", "q3_0"], 2, "q3_0"),
        (["x", "PAIR", "--load-mode", "fast"], 2, "fast"),
        (["x", "PAIR", "--engine", "vllm"], 2, "vllm"),
        (["x", "PAIR", "--engine", "ik", "--gpu-layers", "2"], 2, "no layers on a GPU"),
        (["x", "PAIR", "--stop", ""], 2, "stop"),
        (["x", "PAIR", "--raw", "--system", "y"], 2, "--raw and --system"),
        (["x", "PAIR", "--json", "--show-rejected"], 2, "--trace"),
        (["x", "PAIR", "--json", "--color", "always"], 2, "--json"),
        (["long " * 200, "PAIR"], 2, "the context holds 256"),
        (["x", "PAIR", "-k", "many"], 2, "auto or a number"),
        (["x", "PAIR", "--drafter", "oracle"], 2, "oracle"),
        (["x", "--bogus"], 2, "--bogus"),
        (["x", "--target", "nowhere/a.gguf"], 3, "nowhere/a.gguf"),
        (["x", "--target", "TEXT"], 3, "not a GGUF"),
        (["x", "--target", "CUT"], 3, "cut off inside its header"),
        (["x", "--target", "HALF"], 3, "cannot load"),
        (["x", "--target", "."], 3, "folder"),
        (["x", "--no-download"], 3, "specdesk download"),
        (["x", "PAIR", "--trace", "nowhere/trace.jsonl"], 5, "nowhere/trace.jsonl"),
    ],
)
def test_bad_input_is_one_line_and_its_own_exit_code(
    args: list[str], code: int, said: str, pair: Sequence[object], chat_pair: TinyPair, tmp_path: Path
) -> None:
    (tmp_path / "text.gguf").write_text("not a model")
    (tmp_path / "cut.gguf").write_bytes(chat_pair.target.read_bytes()[:20])
    (tmp_path / "half.gguf").write_bytes(chat_pair.target.read_bytes()[:30_000])
    files = {"TEXT": "text.gguf", "CUT": "cut.gguf", "HALF": "half.gguf"}
    filled: list[object] = []
    for arg in args:
        filled.extend(pair if arg == "PAIR" else [tmp_path / files[arg]] if arg in files else [arg])
    done = specdesk("run", *filled)
    assert (done.returncode, done.stdout) == (code, ""), done.stderr
    (line,) = lines(done.stderr)
    assert line.startswith("specdesk: ")
    assert said in line


def test_an_absent_pair_that_cannot_be_fetched_is_a_network_error() -> None:
    done = specdesk("run", "x", env={"HF_HUB_OFFLINE": "1"})
    assert (done.returncode, done.stdout) == (4, "")
    assert "offline" in lines(done.stderr)[-1].lower()


def test_ctrl_c_keeps_what_is_there(pair: Sequence[object]) -> None:
    options = (*pair[:-1], 8192, "--json", "-t", 1)
    with started("run", "Hello", *options, "--trace", "/dev/stderr") as process:
        assert process.stderr is not None
        process.stderr.readline()
        process.send_signal(signal.SIGINT)
        out, _ = process.communicate(timeout=TIMEOUT_S)
    assert process.returncode == 130
    result = json.loads(out)
    assert result["stop_reason"] == "cancelled"
    assert 0 < len(result["token_ids"]) < 8000


def test_a_reader_that_leaves_is_no_traceback(pair: Sequence[object]) -> None:
    with started("run", "Hello", *pair[:-1], 8192, "-t", 1) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.read(1)
        process.stdout.close()
        said = process.stderr.read()
        process.wait(timeout=TIMEOUT_S)
    assert "Traceback" not in said
    assert process.returncode != 0


def test_on_a_terminal_the_answer_streams_in_colour_with_a_legend(pair: Sequence[object]) -> None:
    child = pexpect.spawn(
        COMMAND[0],
        [*COMMAND[1:], "run", "Hello", *(str(o) for o in pair), "-n", "40", "--seed", "1", "--show-rejected"],
        env=os.environ | {"TERM": "xterm-256color", "COLUMNS": "120"},
        timeout=TIMEOUT_S,
        encoding="utf-8",
    )
    child.expect(pexpect.EOF)
    shown = child.before
    assert isinstance(shown, str)
    child.close()
    assert child.exitstatus == 0
    assert "accepted draft token" in shown
    assert "rejected draft token" in shown
    assert "\x1b[32m" in shown
    assert "speedup" in shown


def test_a_prompt_that_the_context_cannot_hold(tiny_pair: TinyPair) -> None:
    args = ("run", "-", "--target", tiny_pair.target, "--ctx", "128", "-n", "5", "-t", "0")
    refused = specdesk(*args, stdin="word " * 60)
    assert refused.returncode == 2
    assert "the context holds 128" in lines(refused.stderr)[-1]
    assert "--truncate" in lines(refused.stderr)[-1]
    cut = specdesk(*args, "--truncate", stdin="word " * 60)
    assert cut.returncode == 0, cut.stderr
    assert any("the first 178 characters of the prompt not sent" in line for line in lines(cut.stderr)), cut.stderr
    assert answer(*args[1:], "--truncate", stdin="word " * 60)["left_out"]["n_characters"] == 178


def test_another_chat_template(tmp_path: Path, chat_pair: TinyPair) -> None:
    broken = write(tmp_path / "broken.gguf", replace(TARGET, vocabulary=CHAT, chat_template="{% no_such_tag %}"))
    failed = specdesk("run", "hi", "--target", broken, "-n", "3")
    assert failed.returncode == 3
    assert "--chat-template FILE" in lines(failed.stderr)[-1]
    template = tmp_path / "chatml.jinja"
    template.write_text(CHATML)
    args = ("hi", "--chat-template", template, "-n", 8, "-t", 0, "--threads", 1)
    own = answer("hi", "--target", chat_pair.target, "-n", 8, "-t", 0, "--threads", 1)
    other = answer(*args, "--target", broken)
    assert other["stats"]["prompt_tokens"] == own["stats"]["prompt_tokens"]
    assert specdesk("run", *args, "--target", broken, "--chat-template", tmp_path / "none").returncode == 2


@pytest.mark.parametrize("add_bos", [None, True, False])
@pytest.mark.parametrize("in_template", [False, True])
def test_the_tokens_of_the_prompt_are_shown(tmp_path: Path, add_bos: bool | None, in_template: bool) -> None:
    template = "{{ bos_token }}" * in_template + CHATML
    model = replace(TARGET, vocabulary=CHAT, chat_template=template, add_bos=add_bos)
    target = write(tmp_path / "model.gguf", model)
    done = specdesk("run", "hé", "--target", target, "-n", 1, "--threads", 1, "--show-prompt-tokens", "--json")
    shown = [line.split(maxsplit=1) for line in done.stderr.splitlines() if re.match(r" *\d+  \"", line)]
    texts = [json.loads(text) for _, text in shown]
    assert texts.count("<s>") == (1 if in_template or add_bos is not False else 0)
    assert "<s>" not in texts[1:]
    assert texts[-1] == "\n"
    assert len(shown) == json.loads(done.stdout)["stats"]["prompt_tokens"]
    assert "".join(texts).replace("<s>", "").startswith("<|im_start|>user\nh")


def test_what_cannot_be_seen_in_a_prompt_is_shown(tmp_path: Path) -> None:
    """Bug: a joiner, or a blank that is none, looked like nothing at all."""
    odd = "\u200b\xa0\u202e\x9b31m\ufeff\u3000"
    model = replace(TARGET, vocabulary=CHAT.with_tokens([odd], TokenType.CONTROL), chat_template=odd + CHATML)
    target = write(tmp_path / "model.gguf", model)
    done = specdesk("run", "hi", "--target", target, "-n", 1, "--threads", 1, "--show-prompt-tokens")
    assert r'"\u200b\u00a0\u202e\u009b31m\ufeff\u3000"' in done.stderr
    assert not set(odd.replace("31m", "")) & set(done.stderr)


def test_how_models_were_placed_is_told(pair: Sequence[object]) -> None:
    told = ("--cache-type-k", "q8_0", "--cache-type-v", "q4_0", "--load-mode", "read")
    settings = answer("Hello", *pair, *told, "-n", 8)["settings"]
    assert (settings["cache_type_k"], settings["cache_type_v"], settings["load_mode"]) == ("q8_0", "q4_0", "read")
    assert (settings["main_gpu"], settings["tensor_split"], settings["engine"]) == (None, [], "llama")
