"""Statements of one shape are parsed once, and have the tree, the places and the errors that each would have alone."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from importlib import resources
from pathlib import Path
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tidelog.plans.language import parser, statements
from tidelog.plans.language.parser import parse, parse_what_reads
from tidelog.plans.language.statements import Scanner, split_statements
from tidelog.plans.language.templates import KEYWORDS, Templates

ROOT = Path(__file__).parents[2]
PROGRAMS = [
    path.read_text("utf-8", errors="replace")
    for folder in ("examples", "tests/fixtures")
    for path in sorted((ROOT / folder).rglob("*.tide"))
]
PIECE = re.compile(r'"(?:[^"\\\n]|\\.)*"|[A-Za-z_][A-Za-z0-9_]*|[0-9]+(?:\.[0-9]+)?|[ \t]+|.', re.DOTALL)
WRITTEN = [
    *sorted({text[raw.start : raw.end] for text in PROGRAMS for raw in split_statements(text)}),
    "p(X) :- q(X), boxminus (3 + X, r(X)).",
    "p(X) :- q(X, Y), Y > 1 / 3, X != - 2.",
    "p(X) :- diamondminus[1 / 3, 2 min] q(X), X = min(3, 4).",
    "p(X)@T+1 :- q(X)@T, r(X)@T in [5], top.",
    "p(X)@T + 1 :- q(X)@T + 2, not r(X)@T, s(X) in [# 3], t(X) in [# 4 step 2].",
    "p(X, Y) :- q(X, 5), Y = X+1000002, Z = X*7000001, r(1000003/1, 7000002e0).",
    "f(3, x)@1000002/1.",
    "p(X) :- 'q1000001x'(X, 3), Y = 't1000002x', sometime %c\n [0,3] r(X).",
    "on(X) :- sometime[0,3] q(X), always r(X) in [5], not sometime q(X) in [#3 of q, r].",
    "p(X) :- (q(X) since[0,3] r(X)), (a(X), b(X, 3)) until r(X).",
    'temp(m1, "a, b", Alice, 21.5)@[3,4).',
    "'a b'(X) :- 'temp 5'(X, c), X < 3, s-1(X), q(a1:Lecturer, 2 , _).",
]
PLAIN_WORDS = st.sampled_from(["p", "q1", "aB_c", "X", "Yz_1", "x" * 50, "d1", "overs", "Inside", "e5"])
WORDS = st.one_of(
    PLAIN_WORDS,
    PLAIN_WORDS,
    st.sampled_from(sorted(KEYWORDS)).map(lambda word: word.upper() if len(word) % 2 else word),
    st.sampled_from(["_", "_x", "count", "sum", "Top", "mod"]),
)
NUMBERS = st.one_of(
    st.integers(0, 12).map(str),
    st.sampled_from(["0", "007", "2.50", "1.0", "999999999999999", "9" * 19, "1" * 41, "1000001"]),
)
TEXTS = st.sampled_from(['""', '"a"', '"3,"', '"(x)"', '"%"', '"\'"', '"\\n"', '":-"', '"a.b"', '"[1,2]"', '"é"'])
_SOUP = """
p q(X) input output . .. ; :- :- , ( ) [ ] 1 2.5 1..2 .5 not since in \\ : ::- ask @ é p(a). ' " "a.b" "x:-y" "\\"."
"""
SOUP = st.sampled_from(
    [*_SOUP.split(), ". ", " :- ", " ", "\n", "\n\n", "%c. x\n", "\ufeff", "\t", "\r\n", "p(X) :- q(X).\n"]
)


def _like(pieces: list[str], data: st.DataObject, *, steady: bool) -> str:
    """A statement of the same outline, with other words; if not `steady`, now and then with a slip."""
    made = []
    for piece in pieces:
        if piece[0].isdigit():
            made.append(data.draw(NUMBERS))
        elif piece[0] == '"' and len(piece) > 1:
            made.append(data.draw(TEXTS))
        elif piece[0].isalpha() and piece.lower() not in KEYWORDS:
            word = data.draw(PLAIN_WORDS if steady else WORDS)
            same = piece[0].isupper() and word[0].islower()
            made.append(word.capitalize() if same else word)
        else:
            made.append(piece)
    if not steady and data.draw(st.booleans()):
        made[data.draw(st.integers(0, len(made) - 1))] = data.draw(SOUP)
    return "".join(made)


def _whole(node: Any) -> Any:
    """A tree with the kinds and the places of its nodes, which do not take part in its own comparison."""
    if is_dataclass(node):
        return (type(node), *(_whole(getattr(node, field.name)) for field in fields(node)))
    if isinstance(node, tuple | list):
        return (type(node), *map(_whole, node))
    return type(node), node


@given(data=st.data())
def test_statements_read_as_each_would_alone(data: st.DataObject) -> None:
    """A program of statements of one outline has the same trees, places and errors with templates and without them."""
    pieces = PIECE.findall(data.draw(st.sampled_from(WRITTEN)))
    lines = [_like(pieces, data, steady=number < 6 or data.draw(st.booleans())) for number in range(9)]
    text = ".\n".join(lines) + "."
    found = parse_what_reads(text)
    with patch.object(Templates, "statement", lambda *_: None):
        expected = parse_what_reads(text)
    assert _whole(found) == _whole(expected)


@given(data=st.data())
def test_changed_words_alone_read_as_each_would(data: st.DataObject) -> None:
    """The same where nothing but words of one kind change, so that templates are used wherever there are any."""
    pieces = PIECE.findall(data.draw(st.sampled_from(WRITTEN)))
    lines = [_like(pieces, data, steady=True) for _ in range(9)]
    text = "\n".join(f"{line} ." for line in lines)
    found = parse_what_reads(text)
    with patch.object(Templates, "statement", lambda *_: None):
        expected = parse_what_reads(text)
    assert _whole(found) == _whole(expected)


@pytest.mark.parametrize(
    "statement",
    [
        "p{0}(X)@T + {1} :- q(X)@T, not r(X)@T.",
        "p{0}(X) :- q(X) in [# {1}].",
        "p{0}(X)@T :- q(X)@T + {1}.",
        "p({0}, Y) :- q(X), Y = X+1000002.",
        "p({0}) :- 'q1000001x'(X), q(X, 7000001e0).",
        "f({0})@1000002/1.",
        "p(X) :- sometime %\n [0,{1}] q(X).",
        "p(X) :- sometime\ufeff[0,{1}] q(X).",
    ],
)
def test_what_a_template_must_not_take_for_a_word(statement: str) -> None:
    """A decimal where a whole number has to be, what happens to be a word of a probe, and what is left out between words."""
    numbers = ["1", "2", "3", "4", "5", "6", "1.5", "2.0", "0"]
    text = "\n".join(statement.format(i, number) for i, number in enumerate(numbers))
    found = parse_what_reads(text)
    with patch.object(Templates, "statement", lambda *_: None):
        assert _whole(found) == _whole(parse_what_reads(text))


@given(st.lists(SOUP, max_size=30).map("".join))
def test_plain_statements_end_where_they_would_token_by_token(text: str) -> None:
    """What is found at once to be a statement is one, with the same begin, end and kind, when it is read by tokens."""
    found = list(split_statements(text))
    with patch.object(Scanner, "_plain", lambda _: None):
        assert found == list(split_statements(text))


@pytest.mark.parametrize("length", [statements.MAX_STATEMENT - 2, statements.MAX_STATEMENT, statements.MAX_STATEMENT + 2])
def test_a_plain_statement_is_as_long_as_any_other_may_be(length: int) -> None:
    """The bound of a statement's length is the same, whichever way its end is found."""
    text = "p(" + "a" * (length - 3) + ") .\nq(b)."
    found = list(split_statements(text))
    with patch.object(Scanner, "_plain", lambda _: None):
        assert found == list(split_statements(text))


def test_deep_brackets_are_refused_on_a_line_of_their_own() -> None:
    """A statement that is found at once is not too deep."""
    text = "p :- " + "(" * 101 + "q" + ")" * 101 + ".\n"
    (raw,) = split_statements(text)
    assert raw.problem is not None
    assert raw.problem.code == "too-deep"


@pytest.mark.parametrize(
    "statement",
    [
        "alarm{0}(X) :- temp{0}(X, C), C > {0}, diamondminus[0,{0}] on(X, c{0}), not ok(X).",
        "p(X) :- " + "(" * 90 + "q{0}(X)" + ")" * 90 + ".",
        'owner(m{0}, "u {0}", {0}.5)@[{0},{0}].',
        "p{0}(X) :- q(X) since[0,{0}] r(X), always s(X) in [{0}].",
    ],
)
def test_statements_of_one_shape_are_parsed_once(statement: str) -> None:
    """A hundred statements that differ in words alone need a handful of parses."""
    text = "\n".join(statement.format(number) for number in range(100))
    with patch.object(parser, "_read", wraps=parser._read) as read:
        program = parse(text)
    assert len(program.statements) == 100
    assert read.call_count < 10


def _words_of_the_grammar() -> Iterator[str]:
    grammar = resources.files("tidelog.plans.language").joinpath("grammar.lark").read_text("utf-8")
    for line in grammar.splitlines():
        terminal = re.match(r"[A-Z]+(?:\.\d)?: /(.*)/i?$", line)
        if terminal is not None:
            bare = re.sub(r"\[[^]]*\]|\\.|\(\?[=!]", " ", terminal[1])
            yield from re.findall(r"[a-z]{2,}", bare)


def test_every_keyword_of_the_grammar_belongs_to_the_shape() -> None:
    """A word that the lexer knows is not free."""
    words = set(_words_of_the_grammar())
    assert {"diamondminus", "since", "inf", "timeline", "latest", "us", "min"} <= words
    assert words <= KEYWORDS
