"""What reaches standard output while an answer streams."""

from __future__ import annotations

import io

from specdesk.cli.painter import PlainPainter
from specdesk.core.events import AnswerToken, Delta, Finished, Source, Step, StopReason


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def step(text: str) -> Step:
    token = AnswerToken(1, text, Source.PLAIN, 1.0, 0.0)
    return Step(0, 0, "test", None, "test", (), (token,), (Delta(text, Source.PLAIN),), 0, 0, 0)


def painted(stream: io.StringIO, *texts: str) -> str:
    painter = PlainPainter(stream)
    for text in texts:
        painter.paint(step(text))
    painter.paint(Finished(StopReason.EOG, ()))
    return stream.getvalue()


def test_a_pipe_gets_the_bytes_of_the_answer() -> None:
    assert painted(io.StringIO(), "a\x1b[2Jb\t", "c\n") == "a\x1b[2Jb\tc\n"


def test_a_terminal_is_not_driven_by_what_a_model_writes() -> None:
    assert painted(Terminal(), "a\x1b[2Jb\t", "c\x07\n") == "a␛[2Jb\tc␇\n"


def test_the_shell_s_prompt_starts_on_a_line_of_its_own() -> None:
    assert painted(io.StringIO(), "a", "b") == "ab\n"
