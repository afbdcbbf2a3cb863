"""Showing diagnostics with the lines they are about, for people (`render`) and for programs (`to_fields`)."""

from __future__ import annotations

import unicodedata
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

from tidelog.plans.diagnostics.errors import Diagnostic, ProgramError, Span
from tidelog.plans.diagnostics.visible import visible

MAX_WIDTH = 120
"""Lines of the program longer than this are cut around the place in question."""
_TAB = "    "
_BOLD, _RED, _YELLOW, _BLUE, _PLAIN = "\x1b[1m", "\x1b[31m", "\x1b[33m", "\x1b[34m", "\x1b[0m"


def line_starts(text: str) -> list[int]:
    """The offsets at which the lines of a text begin.

    >>> line_starts("a\\nbc\\n")
    [0, 2, 5]
    """
    starts = [0]
    at = text.find("\n")
    while at >= 0:
        starts.append(at + 1)
        at = text.find("\n", at + 1)
    return starts


class Source:
    """A program's text by lines; lines and columns count from 1, columns in characters."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._starts = line_starts(text)

    def position(self, offset: int) -> tuple[int, int]:
        """The line and the column of a character."""
        line = bisect_right(self._starts, min(offset, len(self.text)))
        return line, offset - self._starts[line - 1] + 1

    def line(self, number: int) -> str:
        """A line without its end."""
        start = self._starts[number - 1]
        end = self._starts[number] - 1 if number < len(self._starts) else len(self.text)
        return self.text[start:end].rstrip("\r")


@dataclass(frozen=True, slots=True)
class _Mark:
    """Something to underline: a line, its columns from 0 (`end` exclusive), the sign, and a label."""

    line: int
    start: int
    end: int
    sign: str
    label: str


class _Painter:
    """Puts ANSI colours around text, or leaves it as it is."""

    def __init__(self, colour: bool, severity: str) -> None:
        self._colour = colour
        self._severity = _RED if severity == "error" else _YELLOW

    def _paint(self, code: str, text: str) -> str:
        return f"{_BOLD}{code}{text}{_PLAIN}" if self._colour and text else text

    def severity(self, text: str) -> str:
        return self._paint(self._severity, text)

    def gutter(self, text: str) -> str:
        return self._paint(_BLUE, text)

    def title(self, text: str) -> str:
        return self._paint("", text)

    def mark(self, text: str, sign: str) -> str:
        return self.severity(text) if sign == "^" else self.gutter(text)


def render(error: ProgramError, colour: bool = False) -> str:
    """All of an error's diagnostics as text for a person, each with its lines, parted by empty lines."""
    return render_diagnostics(error.diagnostics, error.name, error.text, colour)


def render_diagnostics(diagnostics: Iterable[Diagnostic], name: str, text: str, colour: bool = False) -> str:
    """Diagnostics of one program as text, such as its warnings; each ends with a line end."""
    source = Source(text)
    return "\n".join(_render(item, name, source, colour) for item in diagnostics)


def _render(item: Diagnostic, name: str, source: Source, colour: bool) -> str:
    painter = _Painter(colour, item.severity)
    head = painter.severity(f"{item.severity}[{item.code}]") + painter.title(f": {visible(item.message)}")
    if not source.text:
        lines = [head, f" {painter.gutter('-->')} {visible(name)}"]
        width = 1
    else:
        marks = _marks(item, source)
        width = len(str(max(mark.line for mark in marks)))
        line, column = source.position(item.span.start)
        lines = [head, f"{' ' * width}{painter.gutter('-->')} {visible(name)}:{line}:{column}"]
        lines += _snippet(marks, source, width, painter)
    if item.help:
        lines.append(f"{' ' * width} {painter.gutter('=')} {painter.title('help')}: {visible(item.help)}")
    return "".join(f"{line}\n" for line in lines)


def _marks(item: Diagnostic, source: Source) -> list[_Mark]:
    marks = [_mark(item.span, "^", item.label, source)]
    marks += [_mark(note.span, "-", note.label, source) for note in item.notes]
    return sorted(marks, key=lambda mark: (mark.line, mark.start))


def _mark(span: Span, sign: str, label: str, source: Source) -> _Mark:
    """A span that runs over several lines is underlined on its first."""
    line, column = source.position(span.start)
    last = max(len(source.line(line)), column)
    end = min(column - 1 + max(span.end - span.start, 1), last)
    return _Mark(line, column - 1, end, sign, visible(label))


def _snippet(marks: list[_Mark], source: Source, width: int, painter: _Painter) -> list[str]:
    bar = painter.gutter("|")
    lines = [f"{' ' * width} {bar}"]
    previous = 0
    for number in sorted({mark.line for mark in marks}):
        if previous and number > previous + 1:
            lines.append(painter.gutter("..."))
        previous = number
        text = source.line(number)
        here = [mark for mark in marks if mark.line == number]
        begin, end = _window(len(text), here)
        here = [mark for mark in here if begin <= mark.start <= end]
        shown, cells = _cut(text, begin, end, max(mark.end for mark in here))
        lines.append(f"{painter.gutter(str(number).rjust(width))} {bar} {shown}".rstrip())
        lines += [f"{' ' * width} {bar} {row}" for row in _underline(here, cells, painter)]
    return lines


def _underline(marks: list[_Mark], cells: list[int], painter: _Painter) -> list[str]:
    """The marks below a line, side by side as long as no label runs into the next mark."""
    rows: list[str] = []
    row, used = "", 0
    for mark in marks:
        start, end = cells[mark.start], cells[mark.end]
        if row and start < used + 1:
            rows.append(row)
            row, used = "", 0
        length = 1 if mark.end - mark.start == 1 else max(end - start, 1)  # not four signs below a tab
        drawn = f"{mark.sign * length} {mark.label}".rstrip()
        row += " " * (start - used) + painter.mark(drawn, mark.sign)
        used = start + len(drawn)
    return [*rows, row]


def _window(length: int, marks: list[_Mark]) -> tuple[int, int]:
    """Which characters of a line are shown: all, or those around the mark that counts."""
    if length <= MAX_WIDTH:
        return 0, length
    first = next((mark for mark in marks if mark.sign == "^"), marks[0])
    begin = max(0, min(first.start - MAX_WIDTH // 2, length - MAX_WIDTH))
    return begin, begin + MAX_WIDTH


def _cut(line: str, begin: int, end: int, reach: int) -> tuple[str, list[int]]:
    """The line as shown, and the cell at which each of its characters stands, up to and including `reach`."""
    before, after = "..." if begin else "", "..." if end < len(line) else ""
    pieces = [_show(character) for character in line[begin:end]]
    cells = [0] * begin
    at = len(before)
    for piece in pieces:
        cells.append(at)
        at += _cells(piece)
    for behind in range(end, max(reach, end) + 1):
        cells.append(at if after else at + behind - end)
    return before + "".join(pieces) + after, cells


def _show(character: str) -> str:
    """A character as a terminal may show it: a tab as spaces, what would steer the terminal as its escape."""
    return _TAB if character == "\t" else visible(character)


def _cells(piece: str) -> int:
    if len(piece) > 1:  # a tab, or an escape
        return len(piece)
    if unicodedata.combining(piece):
        return 0
    return 2 if unicodedata.east_asian_width(piece) in "WF" else 1


def to_fields(error: ProgramError) -> list[dict[str, object]]:
    """The diagnostics as plain data for programs; lines and columns count from 1, ends are exclusive."""
    return diagnostics_to_fields(error.diagnostics, error.name, error.text)


def diagnostics_to_fields(diagnostics: Iterable[Diagnostic], name: str, text: str) -> list[dict[str, object]]:
    """As `to_fields`, for diagnostics that are not an error, such as warnings."""
    source = Source(text)
    return [
        {
            "code": item.code,
            "severity": item.severity,
            "message": item.message,
            "file": name,
            **_place(item.span, source),
            "label": item.label,
            "notes": [{**_place(note.span, source), "label": note.label} for note in item.notes],
            "help": item.help,
        }
        for item in diagnostics
    ]


def _place(span: Span, source: Source) -> dict[str, object]:
    line, column = source.position(span.start)
    end_line, end_column = source.position(span.end)
    return {"line": line, "column": column, "endLine": end_line, "endColumn": end_column}
