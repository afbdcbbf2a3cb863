"""Colours: the Pygments lexer and the TextMate grammar see in a program what its parser sees."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from pygments.token import Comment, Error, Keyword, Name, Number, String, Token

from children import WAIT
from tidelog import plans
from tidelog.editing.highlighting import TideLexer
from tidelog.editing.words import WORDS
from tidelog.plans.language.formatting.program import tokens_of
from tidelog.plans.language.statements import split_statements

ROOT = Path(__file__).parents[2]
EXTENSION = ROOT / "editors" / "vscode"
EXAMPLES = sorted([*ROOT.glob("examples/*/*.tide"), *ROOT.glob("tests/fixtures/plans/*.tide")])
FORMS = """\
timeline integer, unit 5 min, round down.  % why
input temp(sensor: text, value: number) delay 2 s.
alarm(X)@T+1 :- boxminus[0,5s] hot(X), NOT 'all clear'(X) since(0,inf) p(X, "a\\"b", wt-25), V >= 2.5 * abs(X).
q(X) :- r(X)@T in [#5 of r, q], sometime s in [10 step 2], Top, X mod 3 = 1, always a:Dept(X) in [1 h].
bottom :- not(q(X), r(X)) until (a, b).
p(a)@[2024-07-01T10:00Z,3).
background g from "x.csv".
output alarm, q.
ask alarm(X)@T.
calendar office = mon-fri 08:00-12:00 13:00-17:00, sat 9:00-12:30, zone "Europe/Berlin", EXCEPT holiday, 'a b'.
calendar holiday = 2026-12-24 to 2026-12-26, jan 1, dec 24-jan 2, mon wed.
calendar day(D) = each day, zone "Europe/Berlin".
alarm hot(room: text), priority HIGH, text "{room} is hot", acknowledge, shelve at most 8 h, inhibited by office(room).
alarm 'too-hot', inhibited by 'a b', acknowledge.
h(A) :- A = avg(V) over p(S, V) per week zone "Asia/Tokyo" by S, per(zone), B = count() over q(X) per office, each(except).
"""
KEYWORDS = {
    *("METRIC", "NOT", "SINCE", "UNTIL", "IN", "STEP", "OF", "MOD", "TIMELINE", "INPUT", "OUTPUT", "BACKGROUND", "ASK"),
    *("KIND", "UNIT", "RESOLUTION", "ROUND", "DELAY", "FROM", "TYPE", "ROUNDING"),
    *("ALARM", "PRIORITY", "LEVEL", "TEXT", "ACKNOWLEDGE", "SHELVE", "MOST", "INHIBITED"),
    *("CALENDAR", "EACH", "ZONE", "EXCEPT", "PER", "PERIOD"),
}


def parsed(text: str) -> Iterator[tuple[int, str, str]]:
    """Where each token of a program begins, its kind by the parser, and its text."""
    for raw in split_statements(text):
        yield from ((token.start_pos or 0, token.type, str(token)) for token in tokens_of(text, raw))


def texts() -> Iterator[str]:
    """Programs to look at."""
    yield FORMS
    yield from (path.read_text("utf-8") for path in EXAMPLES)


def test_pygments_sees_what_the_parser_sees() -> None:
    """Keywords, texts, numbers, variables and comments are what they are; nothing is unknown."""
    for text in texts():
        found = list(TideLexer(stripnl=False, ensurenl=False).get_tokens_unprocessed(text))
        assert "".join(value for _, _, value in found) == text
        assert not [item for item in found if item[1] is Error]
        kinds = {at: kind for at, kind, _ in found}
        for at, kind, value in parsed(text):
            if kind in KEYWORDS:
                assert kinds[at] in Keyword, (value, text[at - 20 : at + 20])
            elif kind == "STRING":
                assert kinds[at] in String
            elif kind in ("NUMBER", "COUNT"):
                assert kinds[at] in Number
            elif kind == "QUOTED" or text[at + len(value) : at + len(value) + 1] == "(":
                assert kinds[at] in Name.Function or kinds[at] in Name.Builtin, (value, text[at : at + 40])
        comments = [value for _, kind, value in found if kind in Comment]
        assert comments == [line[line.index("%") :] for line in text.split("\n") if "%" in line]


def test_variables_and_types_have_colours_of_their_own() -> None:
    """In Pygments."""
    found = {value: kind for kind, value in TideLexer().get_tokens(FORMS)}
    assert found["X"] is Name.Variable
    assert found["wt-25"] is Name.Constant
    assert found["number"] is found["integer"] is found["HIGH"] is Keyword.Type
    assert found["Top"] is Keyword.Constant
    assert found["abs"] is Name.Builtin
    assert found["5 min"] in Number
    assert found["week"] is Keyword.Type
    dates = ["2024-07-01T10:00Z", "mon-fri", "08:00-12:00", "sat", "jan 1", "dec 24-jan 2", "2026-12-24"]
    assert {found[text] for text in dates} == {Token.Literal.Date}


# --- the TextMate grammar -----------------------------------------------------------------------------------------------


def rules(grammar: dict[str, Any], patterns: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
    """The rules of a grammar in order, with what is included in its place."""
    for pattern in patterns:
        if "include" in pattern:
            yield from rules(grammar, [grammar["repository"][pattern["include"].removeprefix("#")]])
        elif "match" in pattern or "begin" in pattern:
            yield pattern
        else:
            yield from rules(grammar, pattern["patterns"])


def scopes(line: str, ordered: list[dict[str, Any]]) -> dict[int, str]:
    """The scope of each stretch of a line, by its begin: what matches first, and of these the first rule."""
    found: dict[int, str] = {}
    at = 0
    while at < len(line):
        matches = [(match, rule) for rule in ordered if (match := _match(rule, line, at)) is not None]
        if not matches:
            break
        match, rule = min(matches, key=lambda item: item[0].start())
        for group, capture in rule.get("captures", {"0": rule}).items():
            if match[int(group)] is not None:
                found[match.start(int(group))] = capture["name"]
        at = max(match.end(), at + 1)
    return found


def _match(rule: dict[str, Any], line: str, at: int) -> re.Match[str] | None:
    pattern = rule["match"] if "match" in rule else f'{rule["begin"]}(?:[^"\\\\]|\\\\.)*{rule["end"]}'
    return re.compile(pattern).search(line, at)


def test_the_textmate_grammar_sees_what_the_parser_sees() -> None:
    """Keywords are keywords, constants or types; texts are strings."""
    grammar = json.loads((EXTENSION / "syntaxes" / "tide.tmLanguage.json").read_text("utf-8"))
    ordered = list(rules(grammar, grammar["patterns"]))
    for text in texts():
        lines = text.split("\n")
        found = [scopes(line, ordered) for line in lines]
        for at, kind, value in parsed(text):
            line = text.count("\n", 0, at)
            scope = found[line].get(at - text.rfind("\n", 0, at) - 1, "")
            if kind in KEYWORDS:
                assert scope.startswith(("keyword.", "storage.type")), (value, scope, lines[line])
            elif kind == "STRING":
                assert scope.startswith("string.")
            elif kind == "QUOTED" or text[at + len(value) : at + len(value) + 1] == "(":
                assert scope.startswith(("entity.name.function", "support.function")), (value, scope, lines[line])


def test_each_keyword_is_defined() -> None:
    """Every keyword of the grammar has a definition for the language server."""
    text = (Path(str(plans.__file__)).parent / "language/grammar.lark").read_text("utf-8")
    terminals = re.findall(r"^[A-Z]+\.9: /(?:\(\?:)?([a-z|]+)\)?\(\?!", text, re.MULTILINE)
    words = {word for terminal in terminals for word in terminal.split("|")} - {
        "rational",
        "integer",
        "from",
        "hour",
        "day",
        "week",
        "month",
        "year",
    }
    assert len(words) > 15
    assert words <= WORDS.keys()


# --- the extension ------------------------------------------------------------------------------------------------------


def test_the_extension_can_be_packed() -> None:
    """All that its manifest names is there, and it is a manifest that `vsce` takes."""
    manifest = json.loads((EXTENSION / "package.json").read_text("utf-8"))
    assert {"name", "version", "publisher", "engines", "repository", "license"} <= manifest.keys()
    contributes = manifest["contributes"]
    named = [manifest["main"], *(item["path"] for item in contributes["grammars"])]
    named += [item["configuration"] for item in contributes["languages"]]
    assert [path for path in named if not (EXTENSION / path).is_file()] == []
    assert (EXTENSION / "README.md").is_file()
    assert {item["language"] for item in contributes["grammars"]} == {item["id"] for item in contributes["languages"]}
    grammar = json.loads((EXTENSION / "syntaxes" / "tide.tmLanguage.json").read_text("utf-8"))
    assert grammar["scopeName"] == contributes["grammars"][0]["scopeName"]
    configuration = json.loads((EXTENSION / "language-configuration.json").read_text("utf-8"))
    assert configuration["comments"]["lineComment"] == "%"
    assert re.fullmatch(configuration["wordPattern"], "a1:Dept")


def test_the_extension_starts_the_server() -> None:
    """By default the command of this package."""
    manifest = json.loads((EXTENSION / "package.json").read_text("utf-8"))
    setting = manifest["contributes"]["configuration"]["properties"]["tidelog.command"]
    assert setting["default"] == ["tidelog", "lsp"]
    required = re.findall(r'require\("([^"/]+)', (EXTENSION / "extension.js").read_text("utf-8"))
    assert {name for name in required if name != "vscode"} == set(manifest["dependencies"])


@pytest.mark.skipif(shutil.which("node") is None, reason="needs node")
def test_the_extension_is_javascript() -> None:
    """Its code can be read."""
    subprocess.run(["node", "--check", str(EXTENSION / "extension.js")], check=True, timeout=WAIT)
