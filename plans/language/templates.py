"""Statements that differ in names, numbers and texts alone are parsed once: the first of them become a template.

A statement is cut into its free words, numbers and texts, and all that stands between them. What stands between them, and
of which kind each free word is, is the statement's *shape*: a name that begins in lower case, one that begins in upper
case, a whole number, a decimal, or a text. What the lexer and the parser do is decided by the shape: no keyword is free, nor
is a word beside anything that could make it part of a longer token, such as `-`, `:` or `.`. So all statements of one shape
have the same tree, but for the free words in it, and for the places.

The tree is found from a *probe*: a statement of the shape with other words, each of which occurs once, that is read in the
general way. Each node of the probe's tree becomes a call, and the calls in order make the tree of any statement of the
shape. There are two probes, with different words: what is no free word, but happens to be one of a probe, is none of the
other. A shape has no template where the tree does not have each free word as the whole of some value (`1 / 3` is one
number), where the tree depends on what a number is (`sometime[0,n]`), where names are made (an aggregate), or where
something is left out between two words (a comment).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import fields, is_dataclass
from fractions import Fraction
from functools import cache, lru_cache
from typing import Any

from lark.exceptions import UnexpectedInput

from tidelog.plans.diagnostics.errors import NOWHERE, Span
from tidelog.plans.language.statements import RawStatement, StatementKind
from tidelog.plans.tree import syntax
from tidelog.plans.tree.literals import Refusal
from tidelog.plans.tree.numerals import read_number

_KEYWORDS = """
diamondminus diamondplus boxminus boxplus sometime always not since until in for within step of over by latest mod top bottom
max abs timeline input output background ask parameter rational integer unit resolution round delay from inf
calendar per each zone except to hour day week month year mon tue wed thu fri sat sun
monday tuesday wednesday thursday friday saturday sunday jan feb mar apr may jun jul aug sep oct nov dec
alarm priority text acknowledge shelve at most inhibited critical high medium low
us ms s min h d
"""
KEYWORDS = frozenset(_KEYWORDS.split())
"""The words that mean something to the lexer, or to who builds the tree: they belong to the shape."""

_BESIDE = r" \t\f\r\n(),@\[\]<>=!"
"""What may stand beside a free word: nothing that could be one token with it."""
_WORD = rf"(?!(?i:{'|'.join(sorted(KEYWORDS))})(?!\w))[A-Za-z][A-Za-z0-9_]*|[0-9]{{1,15}}(?:\.[0-9]{{1,15}})?"
_TEXT = r'"[^"\\\n,()\[\]@<>=!]*"'
"""Without what the lexer looks ahead for in a rule, to tell an interval from a parenthesis."""
_TEXT_OF_FACT = r'"[^"\\\n]*"'
_TEXTS = {"rule": _TEXT, "fact": _TEXT_OF_FACT}
_KINDS = {
    '"': "s",
    **dict.fromkeys("0123456789", "n"),  # "d" for one with a point
    **dict.fromkeys("abcdefghijklmnopqrstuvwxyz", "a"),
    **dict.fromkeys("ABCDEFGHIJKLMNOPQRSTUVWXYZ", "V"),
}
"""The kind of a free word by its first character."""
_PROBES = {"s": '"t{}x"', "n": "{}", "d": "{}.5", "a": "q{}x", "V": "Q{}x"}
_FIRST_NUMBERS = (1_000_001, 7_000_001)
"""Of the words of each probe; a statement has not so many words that they meet."""
_NO_TEMPLATE = re.compile(r"\b(?:over|by|latest)\b|\b(?:sometime|always)\s*[\[(]|[%\ufeff]", re.IGNORECASE)
_OFTEN = 4
"""How many statements of a shape are read in the general way, before it gets a template."""

Shape = tuple[StatementKind, str, tuple[str, ...]]
"""The kind of a statement, the kinds of its free words, and what stands before, between and behind these."""


class Templates:
    """The shapes of the statements of one program, and the templates of those that are often there."""

    def __init__(self, read: Callable[[str, RawStatement], syntax.Statement]) -> None:
        self._read = read
        self._seen: dict[Shape, int] = {}
        self._templates: dict[Shape, Template | None] = {}

    def statement(self, text: str, raw: RawStatement) -> syntax.Statement | None:
        """The tree of a statement whose shape has a template; None for any other, also for one that cannot be read."""
        if raw.kind not in _TEXTS:
            return None
        parts = _free_words(raw.kind).split(text[raw.start : raw.end])
        words = parts[1::2]
        shape = (raw.kind, "".join([_kind(word) for word in words]), tuple(parts[::2]))
        if shape not in self._templates:
            seen = self._seen.get(shape, 0)
            if seen < _OFTEN:
                self._seen[shape] = seen + 1
                return None
            self._templates[shape] = find_template(shape, self._read)
        template = self._templates[shape]
        return None if template is None else template.make(raw.start, words)


class Template:
    """The tree of every statement of a shape.

    It is made bottom up, in one list of values: first what is the same in all trees, then places and free words, then node
    by node what is called with values that are there already.
    """

    __slots__ = ("_calls", "_places", "_same", "_widths", "_words")

    def __init__(self, probe: _Probe) -> None:
        self._widths = [len(between) for between in probe.fixed[:-1]]
        self._same = probe.same
        self._places = list(probe.places)
        self._words = list(probe.words)
        begins = {_SAME: 0, _PLACE: len(self._same)}
        begins[_WORD_AT] = begins[_PLACE] + len(self._places)
        begins[_NODE] = begins[_WORD_AT] + len(self._words)
        self._calls = [(call, [begins[sort] + number for sort, number in values]) for call, values in probe.nodes]

    def make(self, start: int, words: Sequence[str]) -> syntax.Statement:
        """The tree of a statement that begins at a place and has these free words."""
        ends = [start]
        for width, word in zip(self._widths, words, strict=True):
            ends.append(ends[-1] + width + len(word))
        values: list[Any] = [*self._same, *[ends[i] + behind for i, behind in self._places]]
        values += [read(words[i]) for read, i in self._words]
        for call, arguments in self._calls:
            values.append(call(*[values[i] for i in arguments]))
        statement: syntax.Statement = values[-1]
        return statement


def find_template(shape: Shape, read: Callable[[str, RawStatement], syntax.Statement]) -> Template | None:
    """The template of a shape; None where not all its trees are the same but for their words and places."""
    if any(map(_NO_TEMPLATE.search, shape[2])):
        return None
    one, other = (_probe(shape, read, first) for first in _FIRST_NUMBERS)
    return Template(one) if one is not None and other is not None and one.is_like(other) else None


def _probe(shape: Shape, read: Callable[[str, RawStatement], syntax.Statement], first: int) -> _Probe | None:
    """What the tree is made of that a shape has with words that are numbered from `first`; None where that is not known."""
    kind, kinds, fixed = shape
    words = [_PROBES[word].format(first + i) for i, word in enumerate(kinds)]
    text = " " + fixed[0] + "".join(word + behind for word, behind in zip(words, fixed[1:], strict=True))
    try:
        tree = read(text, RawStatement(kind, 1, len(text)))
    except (Refusal, UnexpectedInput):
        return None
    probe = _Probe(fixed, words, 1)
    return probe if probe.node(tree) is not None and not probe.unused else None


def template_of(statement: syntax.Statement, raw: RawStatement) -> Template | None:
    """The template of one statement, without free words: it makes the same tree for another place.

    None where the tree has a place outside of the statement.
    """
    probe = _Probe([" " * (raw.end - raw.start)], [], raw.start)
    return None if probe.node(statement) is None else Template(probe)


_SAME, _PLACE, _WORD_AT, _NODE = range(4)
Value = tuple[int, int]
"""A value in a tree: what sort it is of, and its number there."""


class _Probe:
    """What the tree of a probe is made of, which begins at `start` in its text; its last node is the tree."""

    def __init__(self, fixed: Sequence[str], words: Sequence[str], start: int) -> None:
        self.fixed = fixed
        self._texts = {(word[1:-1] if word[0] == '"' else word): i for i, word in enumerate(words)}
        self._numbers = {Fraction(word): i for i, word in enumerate(words) if word[0].isdigit()}
        self._is_text = [word[0] == '"' for word in words]
        self._ends = [start]
        for before, word in zip(fixed, words, strict=False):
            self._ends.append(self._ends[-1] + len(before) + len(word))
        self.unused = set(range(len(words)))
        self.same: list[Any] = []
        self._at: dict[int, int] = {}  # where these lie, by their identity
        self.places: dict[tuple[int, int], int] = {}
        self.words: dict[tuple[Callable[[str], Any], int], int] = {}
        self.nodes: dict[tuple[Callable[..., Any], tuple[Value, ...]], int] = {}

    def is_like(self, other: _Probe) -> bool:
        """Whether another probe of the shape gives the same template."""
        same = [[(type(value), value) for value in probe.same] for probe in (self, other)]
        made = [(probe.places, probe.words, probe.nodes) for probe in (self, other)]
        return same[0] == same[1] and made[0] == made[1]

    def node(self, node: Any) -> Value | None:
        """A node, or a value in it; None where there is no telling how it comes about."""
        if isinstance(node, tuple):
            return self._made(_items, [self.node(item) for item in node])
        if isinstance(node, Span) and node != NOWHERE:
            return self._made(Span, [self._place(node.start), self._place(node.end)])
        if is_dataclass(node) and not isinstance(node, Span):
            return self._made(type(node), [self.node(getattr(node, field.name)) for field in fields(node)])
        return self._value(node)

    def _made(self, call: Callable[..., Any], values: Sequence[Value | None]) -> Value | None:
        """What a call makes; the same call is made once."""
        known = tuple([value for value in values if value is not None])
        return (_NODE, self.nodes.setdefault((call, known), len(self.nodes))) if len(known) == len(values) else None

    def _place(self, at: int) -> Value | None:
        """A place in what stands between free words, from the end of the word before it; None for one inside a word."""
        for i, end in enumerate(self._ends):
            if end <= at <= end + len(self.fixed[i]):
                return _PLACE, self.places.setdefault((i, at - end), len(self.places))
        return None

    def _value(self, value: Any) -> Value:
        if isinstance(value, str) and value in self._texts:
            number = self._texts[value]
            return self._word(_unquoted if self._is_text[number] else str, number)
        if isinstance(value, int | float | Fraction) and not isinstance(value, bool) and value in self._numbers:
            return self._word(_fraction if isinstance(value, Fraction) else _number, self._numbers[Fraction(value)])
        at = self._at.setdefault(id(value), len(self.same))
        if at == len(self.same):
            self.same.append(value)
        return _SAME, at

    def _word(self, read: Callable[[str], Any], number: int) -> Value:
        self.unused.discard(number)
        return _WORD_AT, self.words.setdefault((read, number), len(self.words))


@cache
def _free_words(kind: StatementKind) -> re.Pattern[str]:
    """What finds the free words of a statement; it is compiled when it is first looked for."""
    return re.compile(rf"(?<![^{_BESIDE}])({_TEXTS[kind]}|{_WORD})(?![^{_BESIDE}])")


def _kind(word: str) -> str:
    kind = _KINDS[word[0]]
    return "d" if kind == "n" and "." in word else kind


def _items(*items: Any) -> tuple[Any, ...]:
    return items


def _unquoted(word: str) -> str:
    return word[1:-1]


@lru_cache(maxsize=4096)
def _number(word: str) -> int | float:
    return read_number(word)


@lru_cache(maxsize=4096)
def _fraction(word: str) -> Fraction:
    return Fraction(word)
