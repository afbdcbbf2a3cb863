"""Facts as text: `P(a,b)@[1,2)`, one a line."""

from __future__ import annotations

import copy
import re
from collections.abc import Sequence

from tidelog.connectors.formats.cache import MAX_TIMES, BoundedCache, key_length
from tidelog.connectors.formats.decoding import Admission, Collector
from tidelog.connectors.formats.lines import LineFramer
from tidelog.connectors.formats.values import read_argument
from tidelog.plans.data.facts import Record, Row, Schema, as_text
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.plans.tree.numerals import shorten
from tidelog.plans.tree.syntax import Value
from tidelog.runtime.ports.interfaces import Batch

_PREDICATE = re.compile(r"\s*(?:'([^']+)'|(\w+(?::\w+)?))\s*")
_RETRACT = re.compile(r"retract\s+(?=['\w])", re.IGNORECASE)
_SIMPLE_ATOM = re.compile(r"(\w+(?::\w+)?)\(([^\s()\"'@%]+)\)\Z")
"""An atom without spaces and quotes, whose arguments are what stands between the commas."""
_TERM = re.compile(r'\s*(?:"([^"\\]*(?:\\.[^"\\]*)*)"|([^\s,()"\'@%]+))\s*', re.DOTALL)
_ESCAPE = re.compile(r"\\(.)", re.DOTALL)
_ESCAPED = {"\\": "\\", '"': '"', "n": "\n", "r": "\r", "t": "\t"}


class TextDecoder:
    """Reads text facts. Blank lines, `%` comments and a full stop at the end are accepted.

    A fact of a stream needs a time; with `timeless` (facts that hold at all times) it must have none. With `predicate`,
    facts of any other are refused. With `retracts`, `retract p(a)@3` takes a fact back; without it, it is refused.
    """

    header: bytes | None = None
    framer = LineFramer

    def __init__(
        self, schema: Schema, name: str, predicate: str | None = None, *, timeless: bool = False, retracts: bool = False
    ) -> None:
        self.name = name
        self._retracts = retracts
        self._admission = Admission(schema, predicate)
        self._timeless = timeless
        self._reader = TimeReader(schema.timeline)
        self._heads: BoundedCache[bytes, tuple[str, Row]] = BoundedCache(self._read_head, key_length)
        self._constants: BoundedCache[str, Value] = BoundedCache(_read_plain, key_length)
        self._times: BoundedCache[bytes, tuple[int, int]] = BoundedCache(self._read_time, key_length, MAX_TIMES)

    def for_stream(self, name: str) -> TextDecoder:
        twin = copy.copy(self)
        twin.name = name
        return twin

    def decode(self, lines: Sequence[bytes], first_line: int) -> Batch:
        collector = Collector(self.name, first_line)
        append, heads, times = collector.records.append, self._heads, self._times
        for line in lines:
            # Both halves being valid by themselves proves that this `@` is the one between atom and time.
            head, _, time = line.rpartition(b"@")
            try:
                predicate, row = heads[head]
                lo, hi = times[time]
            except DataError:
                self._decode_other(line, collector)
            else:
                append((predicate, row, lo, hi))
        return collector.batch()

    def _decode_other(self, line: bytes, collector: Collector) -> None:
        """A line that is not plainly `atom@time`: a blank, a comment, one with a comment behind, or a wrong one."""
        try:
            text = as_text(line).strip()
            retracted = _RETRACT.match(text)
            record = self._read_line(text[retracted.end() :] if retracted else text)
        except DataError as error:
            collector.reject(error.reason, line)
            return
        if record is None:
            collector.skip()
        elif retracted:
            collector.retract(record, line, is_taken=self._retracts)
        else:
            collector.records.append(record)

    def _read_head(self, head: bytes) -> tuple[str, Row]:
        if self._timeless:
            raise DataError("a fact that holds at all times takes no `@`")
        text = as_text(head)
        simple = _SIMPLE_ATOM.match(text)
        if simple:
            constants = self._constants
            values = tuple([constants[term] for term in simple[2].split(",")])
            return simple[1], self._admission.canonical_row(simple[1], values)
        predicate, values, end = scan_atom(text)
        if end < len(text):
            raise DataError(f"expected `@` and a time, got `{shorten(text[end:])}`")
        return predicate, self._admission.canonical_row(predicate, values)

    def _read_time(self, time: bytes) -> tuple[int, int]:
        return self._reader.read(as_text(time).strip().removesuffix("."))

    def _read_line(self, text: str) -> Record | None:
        if not text or text[0] == "%":
            return None
        predicate, values, end = scan_atom(text)
        rest = text[end:].partition("%")[0].strip().removesuffix(".").rstrip()
        if self._timeless:
            if rest:
                raise DataError(f"a fact that holds at all times ends after its atom, got `{shorten(rest)}`")
            return predicate, self._admission.canonical_row(predicate, values), NEG, POS
        if not rest:
            raise DataError("a fact of a stream needs a time, such as `@17` or `@[1,2)`")
        if rest[0] != "@":
            near = "" if values else suggest(predicate, ["retract"])
            raise DataError(f"expected `@` and a time, got `{shorten(rest)}`{near}")
        lo, hi = self._reader.read(rest[1:].lstrip())
        return predicate, self._admission.canonical_row(predicate, values), lo, hi


def scan_atom(text: str) -> tuple[str, tuple[Value, ...], int]:
    """The predicate and the constants at the beginning of a text, and where they end; DataError if there are none.

    >>> scan_atom('a1:Lecturer(ann, "x y", 2.50)@3')
    ('a1:Lecturer', ('ann', 'x y', 2.5), 29)
    """
    match = _PREDICATE.match(text)
    if not match:
        raise DataError(f"expected a fact such as `p(a,b)@17`, got `{shorten(text)}`")
    predicate = match[1] or match[2]
    if not text.startswith("(", match.end()):
        return predicate, (), match.end()
    values, end = _scan_terms(text, match.end() + 1)
    while end < len(text) and text[end].isspace():
        end += 1
    return predicate, values, end


def _scan_terms(text: str, position: int) -> tuple[tuple[Value, ...], int]:
    """The constants behind an opening parenthesis, and the place behind the closing one."""
    values: list[Value] = []
    if text[position : position + 8].lstrip().startswith(")"):
        return (), text.index(")", position) + 1
    while True:
        match = _TERM.match(text, position)
        if not match:
            raise DataError(_term_missing(text[position:].strip()))
        values.append(_unescape(match[1]) if match[2] is None else _read_plain(match[2]))
        position = match.end()
        if text.startswith(")", position):
            return tuple(values), position + 1
        if not text.startswith(",", position):
            rest = text[position:]
            raise DataError(f"expected `,` or `)`, got `{shorten(rest)}`" if rest else "`)` is missing")
        position += 1


def _term_missing(rest: str) -> str:
    if rest.startswith('"'):
        return "text has no closing quote"
    return f"expected an argument, got `{shorten(rest)}`" if rest else "`)` is missing"


def _read_plain(text: str) -> Value:
    if not text:
        raise DataError("an argument is missing")
    number = read_argument(text)
    if number is not None:
        return number
    if (text[0].isalnum() or text[0] == "_") and any(c.isalpha() or c == "_" for c in text):
        return text
    raise DataError(f"`{shorten(text)}` is neither a name nor a number: put it between double quotes")


def _unescape(text: str) -> str:
    if "\\" not in text:
        return text
    return _ESCAPE.sub(_unescape_one, text)


def _unescape_one(match: re.Match[str]) -> str:
    try:
        return _ESCAPED[match[1]]
    except KeyError:
        raise DataError(f"unknown escape `{match[0]}` in text") from None
