"""A fenced block of code while it grows."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

_LINE: Final = re.compile(r"[^\n]*\n")


def whole_lines(text: str) -> tuple[str, str]:
    """The complete lines of `text`, and the beginning of one that follows."""
    end = text.rfind("\n") + 1
    return text[:end], text[end:]


@dataclass(slots=True)
class Fence:
    """A fenced block of code that stands in no other block."""

    mark: str
    """The characters that opened it."""
    info: str
    """What stands behind them."""
    indent: int = 0
    code: str = ""
    """The exact text so far; its last line may be incomplete."""
    closed: bool = False

    def add(self, text: str) -> str:
        """Take code from `text`; returns what is not taken.

        That is what stands behind the end, or the beginning of a line which may be the end or is to lose its
        indentation.
        """
        at = 0
        for match in _LINE.finditer(text):
            line, at = match.group(), match.end()
            if self._at_line_start and self._is_end(line):
                self.closed = True
                return text[at:]
            self.code += self._unindented(line)
        rest = text[at:]
        if self._at_line_start and (self.indent or self._may_be_end(rest)):
            return rest
        self.code += rest
        return ""

    def end(self, rest: str) -> None:
        """The text ends with `rest`, the beginning of a line."""
        if self._at_line_start and self._is_end(rest):
            self.closed = True
        else:
            self.code += self._unindented(rest)

    @property
    def _at_line_start(self) -> bool:
        return not self.code or self.code.endswith("\n")

    def _is_end(self, line: str) -> bool:
        return self._may_be_end(line) and line.lstrip(" ").startswith(self.mark)

    def _may_be_end(self, line: str) -> bool:
        return re.fullmatch(rf" {{0,3}}{re.escape(self.mark[0])}*[ \t]*\n?", line) is not None

    def _unindented(self, line: str) -> str:
        return re.sub(rf"^ {{0,{self.indent}}}", "", line) if self.indent and self._at_line_start else line
