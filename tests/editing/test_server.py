"""`tidelog lsp`, through the protocol: an editor's questions and their answers."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import tidelog
from children import WAIT, child
from editing.protocol import Client, ServerError, client
from tidelog.editing.patterns import PATTERNS
from tidelog.plans.language.formatting.program import format_text
from waiting import eventually

PROGRAM = """\
timeline integer.
% What a sensor reads.
input temp(sensor: text, celsius: number).
output alarm.
limit(s1, 80).

% Too hot for a while.
hot(S) :- temp(S, C), limit(S, L), C >= L.
alarm(S) :- boxminus[0,3] hot(S), not diamondminus[0,9] 'all clear'(S).
'all clear'(S) :- temp(S, C), C < 0.
last(S) :- temp(S, C) in [#5 of temp].
"""


@pytest.fixture(scope="module")
def server() -> Iterator[Client]:
    """One server for all tests: starting takes longer than all that it is asked."""
    with client() as spoken:
        yield spoken


@pytest.fixture
def uri(server: Client, tmp_path: Path) -> Iterator[str]:
    """An open document with the program above."""
    uri = (tmp_path / "p.tide").as_uri()
    server.open(uri, PROGRAM)
    yield uri
    server.notify("textDocument/didClose", textDocument={"uri": uri})


def place(text: str, part: str, nth: int = 0, at: int = 0) -> dict[str, int]:
    """The position of the nth occurrence of a part of a text."""
    offset = -1
    for _ in range(nth + 1):
        offset = text.index(part, offset + 1)
    offset += at
    return {"line": text.count("\n", 0, offset), "character": offset - text.rfind("\n", 0, offset) - 1}


def ask(server: Client, method: str, uri: str, position: dict[str, int], **more: Any) -> Any:
    """A request about a place in a document."""
    return server.request(f"textDocument/{method}", textDocument={"uri": uri}, position=position, **more)


def shown(text: str, ranges: list[dict[str, Any]]) -> list[tuple[int, str]]:
    """What stands at some ranges, each with its line from 1."""
    lines = text.split("\n")
    return [
        (item["start"]["line"] + 1, lines[item["start"]["line"]][item["start"]["character"] : item["end"]["character"]])
        for item in ranges
    ]


def edited(text: str, edits: list[dict[str, Any]]) -> str:
    """A text with edits applied."""
    starts = [0]
    for line in text.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    for edit in sorted(
        edits, key=lambda item: (item["range"]["start"]["line"], item["range"]["start"]["character"]), reverse=True
    ):
        begin, end = (starts[edit["range"][side]["line"]] + edit["range"][side]["character"] for side in ("start", "end"))
        text = text[:begin] + edit["newText"] + text[end:]
    return text


# --- diagnostics --------------------------------------------------------------------------------------------------------


def test_diagnostics_while_typing(server: Client, uri: str) -> None:
    """Each version has its own; what is right again has none; the place, the remedy and notes are told."""
    found = server.change(uri, PROGRAM + "p(X)", PROGRAM + "p(X) :- ", PROGRAM + "p(X, Y) :- hot(X), not alarm(Y).\n")
    errors = [item for item in found if item["severity"] == 1]
    assert [item["code"] for item in errors] == ["unsafe-variable"]
    assert errors[0]["range"] == {"start": {"line": 11, "character": 5}, "end": {"line": 11, "character": 6}}
    assert errors[0]["source"] == "tidelog"
    assert "help: add a positive" in errors[0]["message"]
    assert errors[0]["relatedInformation"][0]["message"] == "only negated here"
    warnings = server.change(uri, PROGRAM)
    assert {item["severity"] for item in warnings} == {2}
    assert [item["code"] for item in server.change(uri, PROGRAM + "a(. b).\nc(] :- d.")][-2:] == ["syntax", "syntax"]


def test_background_files_are_looked_for(server: Client, tmp_path: Path) -> None:
    """Beside the program, while typing, too; what is wrong within one is told when it is opened or saved."""
    uri = (tmp_path / "b.tide").as_uri()
    text = 'p(X) :- q(X), g(X).\nbackground g from "g.txt".\n'
    assert [item["code"] for item in server.open(uri, text)] == ["background-file"]
    assert [item["code"] for item in server.change(uri, text + "\n")] == ["background-file"]
    (tmp_path / "g.txt").write_text("g(a)\n")
    assert server.change(uri, text) == []
    (tmp_path / "g.txt").write_text("g(a\n")
    assert server.change(uri, text + "\n") == []
    server.notify("textDocument/didSave", textDocument={"uri": uri})
    found = server.diagnostics(uri)
    assert [item["code"] for item in found] == ["background-file"]
    assert "g.txt:1" in found[0]["message"]


def test_what_is_proved_is_a_hint(server: Client, tmp_path: Path) -> None:
    """When a program is opened or saved: behind its warnings, as hints; while it is typed, none."""
    uri = (tmp_path / "h.tide").as_uri()
    text = (
        "timeline integer.\ninput temp(room: text, celsius: number).\noutput cold.\ncold(R) :- temp(R, C), C < 3, C > 5.\n"
    )
    assert server.open(uri, text) == []
    (hint,) = server.diagnostics(uri)
    assert (hint["severity"], hint["code"], hint["range"]["start"]["line"]) == (4, "never-holds", 3)
    assert server.change(uri, text.replace("C > 5", "C > 1")) == []


def test_what_only_a_plan_tells_stays_while_typing(server: Client, uri: str) -> None:
    """A mistake that compiling alone finds does not come and go; another one is told beside it as soon as it is there."""
    text = PROGRAM.replace("limit(s1, 80).", "a(X) :- diamondplus[0,inf) hot(X).\nb :- not b2, a(X).\nb2 :- not a(_).\n")
    codes = [item["code"] for item in server.change(uri, text) if item["severity"] == 1]
    before = len(server.notes)
    assert [item["code"] for item in server.change(uri, text + "\n") if item["severity"] == 1] == codes
    assert len(server.notes) == before


@pytest.mark.slow
def test_each_client_has_its_own_ways(server: Client, tmp_path: Path) -> None:
    """Columns are counted in UTF-16, unless it prefers another unit; one without snippets is given plain names."""
    text = 'p(X) :- q(X, "\U0001f600\u00e9"), r(Y, Z), not s(W).\n'
    uri = (tmp_path / "p.tide").as_uri()

    def column(server: Client) -> int:
        (error,) = [item for item in server.open(uri, text) if item["severity"] == 1]
        found: int = error["range"]["start"]["character"]
        return found

    assert column(server) == text.index("W") + 1
    with client(["utf-8"], snippets=False) as other:
        assert column(other) == len(text[: text.index("W")].encode())
        other.change(uri, PROGRAM + "p(X) :- ")
        end = {"line": PROGRAM.count("\n"), "character": 8}
        items = {item["label"]: item for item in ask(other, "completion", uri, end)["items"]}
        assert items["temp"]["insertText"] == "temp"
        assert items["boxminus"]["insertTextFormat"] == 1
        other.change(uri, PROGRAM)
        begin = {"line": 11, "character": 0}
        assert "rule-for" not in {item["label"] for item in ask(other, "completion", uri, begin)["items"]}


# --- questions ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("part", "nth", "parts"),
    [
        ("temp", 1, ["input temp(sensor: text, celsius: number)", "What a sensor reads.", "**memory** a fact matters for"]),
        (
            "hot(S)",
            1,
            [
                "hot(_)",
                "derived by 1 rule",
                "Too hot for a while.",
                "hot(S) :- temp(S, C), limit(S, L), C >= L",
                "**delay** 0",
            ],
        ),
        ("alarm", 1, ["derived by 1 rule, output", "**delay** 0"]),
        ("limit", 1, ["limit(_, _)", "1 fact of the program"]),
        ("'all clear'", 0, ["'all clear'(_)", "derived by 1 rule"]),
        ("boxminus", 0, ["boxminus[a,b] M", "holds at *all* times"]),
        ("not", 0, ["not M", "does not hold at t"]),
        ("timeline", 0, ["timeline integer, unit 1 s."]),
        ("of temp", 0, ["M in [#n of p, q]"]),
        ("C >=", 0, ["variable `C` of this rule, mentioned 2 times"]),
    ],
)
def test_hover(server: Client, uri: str, part: str, nth: int, parts: list[str]) -> None:
    """A predicate: what it is, its comment, delay, memory, rules; a keyword: its definition; a variable: its rule."""
    found = ask(server, "hover", uri, place(PROGRAM, part, nth, 1))
    assert found["contents"]["kind"] == "markdown"
    for text in parts:
        assert text in found["contents"]["value"]
    line = found["range"]["start"]["line"]
    assert line == place(PROGRAM, part, nth)["line"]


@pytest.mark.parametrize(
    ("rule", "part", "shown", "said"),
    [
        (
            "a(X) :- hot(X) for 10 min.",
            "for 10 min",
            "for 10 min",
            "`hot(X)` has held without a break for the last 10 minutes",
        ),
        ("a(X) :- hot(X) FOR 1 h.", "1 h", "FOR 1 h", "`hot(X)` has held without a break for the last hour"),
        (
            "a(X) :- on(X), not hot(X) within 3.",
            "thin",
            "within 3",
            "`hot(X)` has held at some time within the last 3 units of time",
        ),
        ("hot(X) for  20 s :- on(X).", "for", "for  20 s", "`hot(X)` holds from now on for 20 seconds"),
        (
            "a(X) :- (on(X), hot(X)) for 1.",
            "for",
            "for 1",
            "`(on(X), hot(X))` has held without a break for the last unit of time",
        ),
        ("a(X) :- hot(X) within 1 d for 2 d.", "within", "within 1 d", "`hot(X)` has held at some time within the last day"),
        (
            "a(X) :- hot(X) within 1 d for 2 d.",
            "for",
            "for 2 d",
            "`hot(X) within 1 d` has held without a break for the last 2 days",
        ),
    ],
)
def test_words_are_told_as_sentences(server: Client, uri: str, rule: str, part: str, shown: str, said: str) -> None:
    """Over the word and its time: what it says of the formula before it, and the operator that is the same."""
    text = f"timeline rational, unit 1 s. % for 10 min\n{rule}\n"
    server.change(uri, text)
    found = ask(server, "hover", uri, place(text, part, text.partition("\n")[0].count(part), 1))
    sentence, operator = found["contents"]["value"].split("\n\n")
    assert sentence == said
    assert operator.startswith("the same as `")
    begin, end = (found["range"][key]["character"] for key in ("start", "end"))
    assert text.split("\n")[1][begin:end] == shown


def test_words_that_cannot_be_read_are_told_as_words(server: Client, uri: str) -> None:
    """What the word means, where the rule around it is wrong."""
    text = "a(X) :- hot(X for 10 min.\n"
    server.change(uri, text)
    assert "M for 10 min" in ask(server, "hover", uri, place(text, "for", 0, 1))["contents"]["value"]


def test_outputs_show_their_names(server: Client, uri: str) -> None:
    """A predicate is shown with the names that its output gives its arguments."""
    text = "input p(x). input q(x).\noutput a(room: text, level).\na(X, Y) :- p(X), q(Y).\n"
    server.change(uri, text)
    assert "a(room, level)" in ask(server, "hover", uri, place(text, "a(X", 0, 1))["contents"]["value"]


def test_nothing_to_say(server: Client, uri: str) -> None:
    """Of numbers, comments and spaces."""
    for part in ("80", "% What", "integer", "\n\n"):
        assert ask(server, "hover", uri, place(PROGRAM, part, 0, 1)) is None
        assert ask(server, "definition", uri, place(PROGRAM, part, 0, 1)) == []


def test_hover_works_where_the_program_is_wrong(server: Client, uri: str) -> None:
    """Statements that can be read are known, and keywords in those that cannot."""
    text = PROGRAM + "p(X) :- boxminus[0,3 hot(X).\n"
    server.change(uri, text)
    assert "holds at *all* times" in ask(server, "hover", uri, place(text, "boxminus", 1, 1))["contents"]["value"]
    assert "**memory**" in ask(server, "hover", uri, place(text, "temp", 1, 1))["contents"]["value"]


def test_definition(server: Client, uri: str) -> None:
    """A declaration where there is one, else facts and heads."""
    for part, nth, expected in (
        ("temp", 2, [(3, "temp")]),
        ("hot", 1, [(8, "hot")]),
        ("alarm", 0, [(9, "alarm")]),
        ("limit", 1, [(5, "limit")]),
        ("'all clear'", 0, [(10, "'all clear'")]),
    ):
        found = ask(server, "definition", uri, place(PROGRAM, part, nth, 1))
        assert {item["uri"] for item in found} == {uri}
        assert shown(PROGRAM, [item["range"] for item in found]) == expected


def test_references(server: Client, uri: str) -> None:
    """All places of a predicate, or those that read it; of a variable those in its rule."""
    position = place(PROGRAM, "temp", 0, 2)
    found = ask(server, "references", uri, position, context={"includeDeclaration": True})
    assert shown(PROGRAM, [item["range"] for item in found]) == [(line, "temp") for line in (3, 8, 10, 11, 11)]
    found = ask(server, "references", uri, position, context={"includeDeclaration": False})
    assert [item["range"]["start"]["line"] + 1 for item in found] == [8, 10, 11, 11]
    found = ask(server, "references", uri, place(PROGRAM, "C >="), context={"includeDeclaration": True})
    assert shown(PROGRAM, [item["range"] for item in found]) == [(8, "C"), (8, "C")]


def test_symbols(server: Client, uri: str) -> None:
    """The inputs and the heads, each with its statement."""
    found = server.request("textDocument/documentSymbol", textDocument={"uri": uri})
    assert [(item["name"], item["detail"]) for item in found] == [
        ("temp", "input"),
        ("hot", "head"),
        ("alarm", "head"),
        ("all clear", "head"),
        ("last", "head"),
    ]


CALENDARS = """\
timeline integer, unit 1 min.
calendar holiday = 2026-12-24 to 2026-12-26, jan 1.
% When somebody is there.
calendar office = mon-fri 08:00-17:00, zone "Europe/Berlin", except holiday.
calendar day(D) = each day, zone "Europe/Berlin".
busy(N) :- N = count() over call(_) per office.
mean(D, A) :- A = avg(V) over temp(V) per day, day(D).
utc(A) :- A = avg(V) over temp(V) per day zone "UTC", not office.
"""


def test_hover_over_calendars(server: Client, uri: str) -> None:
    """When it holds, and the comment above it, also where `per` names it; the words around are told as words."""
    server.change(uri, CALENDARS)
    for part, nth, texts in (
        ("office", 0, ["calendar: holds mon-fri 08:00-17:00, Europe/Berlin, except holiday", "When somebody is there."]),
        ("office", 1, ["calendar: holds mon-fri"]),
        ("holiday", 1, ["calendar: holds 2026-12-24 to 2026-12-26, jan 1, UTC"]),
        ("day,", 1, ["day(_)", "calendar: holds each day, Europe/Berlin"]),
        ("calendar", 0, ["known at all times"]),
        ("per", 0, ["or over the interval of a calendar"]),
        ("zone", 0, ["IANA"]),
        ("except", 0, ["where one of these calendars does"]),
        ("each", 0, ["with the name of the"]),
    ):
        found = ask(server, "hover", uri, place(CALENDARS, part, nth, 1))["contents"]["value"]
        assert [text for text in texts if text not in found] == [], found
    assert ask(server, "hover", uri, place(CALENDARS, "day zone", 0, 1)) is None


def test_calendars_are_declarations(server: Client, uri: str) -> None:
    """To go to, in the outline, and renamed wherever they are named; `per day zone` is not the calendar `day`."""
    server.change(uri, CALENDARS)
    for part, nth, line in (("office", 1, 4), ("office", 2, 4), ("holiday", 1, 2), ("day,", 1, 5)):
        found = ask(server, "definition", uri, place(CALENDARS, part, nth, 1))
        assert [number for number, _ in shown(CALENDARS, [item["range"] for item in found])] == [line]
    symbols = server.request("textDocument/documentSymbol", textDocument={"uri": uri})
    assert [item["name"] for item in symbols if item["detail"] == "calendar"] == ["holiday", "office", "day"]
    edits = ask(server, "rename", uri, place(CALENDARS, "day(D)", 0, 1), newName="date")["changes"][uri]
    assert edited(CALENDARS, edits) == CALENDARS.replace("day(D)", "date(D)").replace("per day,", "per date,")
    edits = ask(server, "rename", uri, place(CALENDARS, "holiday", 1, 1), newName="day off")["changes"][uri]
    assert edited(CALENDARS, edits) == CALENDARS.replace("holiday", "'day off'")


def test_delays_are_shown_behind_heads(server: Client, uri: str) -> None:
    """The delay of each output behind its first rule's head, with the reason; none for what is no output, or not seen."""
    text = (
        PROGRAM.replace("output alarm.", "output alarm, later.")
        + "later(S) :- diamondplus[2,5] hot(S).\nlater(S) :- hot(S).\n"
    )
    server.change(uri, text)
    eventually(lambda: len(_inlays(server, uri, text.count("\n"))) == 2)  # what is wrong is told before the plan is known
    first, last = _inlays(server, uri, text.count("\n"))
    assert (first["position"], first["label"]) == (place(text, "alarm(S) :-", 0, 8), "delay 0")
    assert (last["position"], last["label"]) == (place(text, "later(S) :-", 0, 8), "delay 5")
    assert last["tooltip"] == "`diamondplus[2,5]` looks 5 ahead"
    assert _inlays(server, uri, 4) == []


def _inlays(server: Client, uri: str, lines: int) -> list[dict[str, Any]]:
    seen = {"start": {"line": 0, "character": 0}, "end": {"line": lines, "character": 0}}
    found: list[dict[str, Any]] = server.request("textDocument/inlayHint", textDocument={"uri": uri}, range=seen)
    return found


# --- changes ------------------------------------------------------------------------------------------------------------


ALARMS = """\
timeline integer, unit 1 s.
input temp(room: text).
input service(room: text).
hot(R) :- temp(R).
% Somebody has to look.
alarm hot(room: text), priority high, text "{room} is hot", acknowledge, shelve at most 8 h, inhibited by service(room).
seen(R) :- hot_state(R, acknowledged).
output hot_state, seen.
"""


def test_alarms(server: Client, uri: str) -> None:
    """Their state comes from them, goes by their name, and is proposed; what inhibits is a predicate like others."""
    server.change(uri, ALARMS)
    shown = ask(server, "hover", uri, place(ALARMS, "hot(room"))["contents"]["value"]
    assert "derived by 1 rule, alarm, priority high" in shown and "Somebody has to look." in shown
    shown = ask(server, "hover", uri, place(ALARMS, "hot_state(R"))["contents"]["value"]
    assert "hot_state(room, state)" in shown and "of alarm `hot`" in shown and "`returned_unacknowledged`" in shown
    shown = ask(server, "hover", uri, place(ALARMS, "acknowledge,"))["contents"]["value"]
    assert "until somebody has acknowledged it" in shown
    for part, line in (("hot_state(R", 5), ("hot_state, seen", 5), ("hot(room", 3), ("service(room).", 2)):
        nth = ALARMS.count(part) - 1
        found = ask(server, "definition", uri, place(ALARMS, part, nth, 1))
        assert [item["range"]["start"]["line"] for item in found] == [line], part
    symbols = server.request("textDocument/documentSymbol", textDocument={"uri": uri})
    assert ("hot", "alarm") in [(item["name"], item["detail"]) for item in symbols]
    edits = ask(server, "rename", uri, place(ALARMS, "hot(R)"), newName="too-hot")["changes"][uri]
    assert edited(ALARMS, edits) == re.sub(r"\bhot(_state)?(?=[(,])", lambda found: f"'too-hot{found[1] or ''}'", ALARMS)
    edits = ask(server, "rename", uri, place(ALARMS, "service(room: text)"), newName="repair")["changes"][uri]
    assert len(edits) == 2
    with pytest.raises(ServerError, match="goes by the name of the alarm `hot`"):
        ask(server, "rename", uri, place(ALARMS, "hot_state(R"), newName="state")


def test_rename(server: Client, uri: str) -> None:
    """A predicate everywhere, quoted where its name needs it; a variable in its rule alone."""
    for part, nth, new, written in (
        ("temp", 2, "reading", "reading"),
        ("temp", 2, "it's", None),
        ("hot", 1, "so hot", "'so hot'"),
    ):
        position = place(PROGRAM, part, nth, 1)
        assert ask(server, "prepareRename", uri, position)["placeholder"] == part
        if written is None:
            with pytest.raises(ServerError, match="no predicate's name"):
                ask(server, "rename", uri, position, newName=new)
            continue
        edits = ask(server, "rename", uri, position, newName=new)["changes"][uri]
        text = edited(PROGRAM, edits)
        assert text == PROGRAM.replace(f"{part}(", f"{written}(").replace(f"of {part}", f"of {written}")
    edits = ask(server, "rename", uri, place(PROGRAM, "C >="), newName="Celsius")["changes"][uri]
    assert edited(PROGRAM, edits) == PROGRAM.replace(
        "temp(S, C), limit(S, L), C >=", "temp(S, Celsius), limit(S, L), Celsius >="
    )


def test_times_are_variables_too(server: Client, uri: str) -> None:
    """The `T` of `@T+1` is renamed with all others of its rule."""
    text = "timeline integer.\np(X, T)@T+1 :- q(X)@T, T > 3.\nr(T) :- q(T).\n"
    server.change(uri, text)
    edits = ask(server, "rename", uri, place(text, "T >"), newName="When")["changes"][uri]
    assert edited(text, edits) == text.replace("T)@T+1 :- q(X)@T, T >", "When)@When+1 :- q(X)@When, When >")


@pytest.mark.parametrize(
    ("part", "new", "why"),
    [
        ("hot(", "alarm", "has a predicate `alarm` already"),
        ("C >=", "S", "has a variable `S` already"),
        ("C >=", "c", "`c` is no variable"),
        ("hot(", "", "no predicate's name"),
    ],
)
def test_what_cannot_be_renamed(server: Client, uri: str, part: str, new: str, why: str) -> None:
    """Two names would become one, or the new one is none."""
    with pytest.raises(ServerError, match=why):
        ask(server, "rename", uri, place(PROGRAM, part), newName=new)


def test_no_rename_in_what_cannot_be_read(server: Client, uri: str) -> None:
    """A mention could be missed there."""
    server.change(uri, PROGRAM + "p(X) :- hot(X.\n")
    with pytest.raises(ServerError, match="cannot be read"):
        ask(server, "rename", uri, place(PROGRAM, "hot("), newName="warm")


def test_completion(server: Client, uri: str) -> None:
    """Variables of the rule and predicates in a body, directives where a statement begins, nothing in texts."""

    def labels(behind: str) -> dict[str, dict[str, Any]]:
        text = PROGRAM + behind
        server.change(uri, text)
        end = {"line": text.count("\n"), "character": len(text) - text.rfind("\n") - 1}
        return {item["label"]: item for item in ask(server, "completion", uri, end)["items"]}

    found = labels("p(X) :- temp(X, Celsius), ")
    assert {"X", "Celsius", "hot", "'all clear'", "boxminus", "since"} <= found.keys()
    assert "timeline" not in found
    assert found["temp"]["insertText"] == "temp(${1:_}, ${2:_})"
    assert "holds at *all* times" in found["boxminus"]["documentation"]["value"]
    assert found["boxminus"]["insertTextFormat"] == 2
    assert {"timeline", "input", "output", "hot", "boxplus"} <= labels("").keys()
    assert labels("p(X) :- temp(X, Celsius), hot(").keys() == {"X", "Celsius"}
    assert labels('p(X) :- temp(X, "a') == {}
    assert labels("p(X) :- hot(X). % te") == {}


@pytest.mark.parametrize(
    ("wrong", "right", "title"),
    [
        ("p(S) :- tmep(S, _).", "p(S) :- temp(S, _).", "Write `temp`"),
        ("p(S) :- 'all claer'(S).", "p(S) :- 'all clear'(S).", "Write `'all clear'`"),
        ("p(S) :- hot(S), nothot(S).", "p(S) :- hot(S), not hot(S).", "Write `not hot`"),
        ("p(S) :- boxmins[0,3] hot(S).", "p(S) :- boxminus[0,3] hot(S).", "Write `boxminus`"),
        ("inptu door(room: text).", "input door(room: text).", "Write `input`"),
        ("input door(room: txt).", "input door(room: text).", "Write `text`"),
        ("p(S) :- hot(S), temp(S, C).", "p(S) :- hot(S), temp(S, _).", "Write `_`"),
        ("p(S) :- N = cuont() over hot(S) in [5] by S, N > 3.", "p(S) :- N = count() over hot(S) in [5] by S, N > 3.", None),
    ],
)
def test_what_was_meant_is_one_keystroke_away(server: Client, uri: str, wrong: str, right: str, title: str | None) -> None:
    """Each `did you mean` is an action that writes it, and so is `_` for a variable that joins nothing."""
    text = PROGRAM + wrong + "\n"
    server.change(uri, text)
    line = {"start": {"line": 11, "character": 0}, "end": {"line": 11, "character": len(wrong)}}
    actions = server.request("textDocument/codeAction", textDocument={"uri": uri}, range=line, context={"diagnostics": []})
    wanted = [item for item in actions if title in (None, item["title"])]
    assert len(wanted) == 1
    assert edited(text, wanted[0]["edit"]["changes"][uri]) == PROGRAM + right + "\n"
    assert wanted[0]["kind"] == "quickfix"
    assert wanted[0]["diagnostics"][0]["range"]["start"]["line"] == 11


def test_nothing_to_mend(server: Client, uri: str) -> None:
    """Neither where nothing is wrong, nor where no help says what was meant."""
    text = PROGRAM + "p(X) :- not hot(X).\n"
    server.change(uri, text)
    for number in (0, 11):
        line = {"start": {"line": number, "character": 0}, "end": {"line": number, "character": 30}}
        found = server.request("textDocument/codeAction", textDocument={"uri": uri}, range=line, context={"diagnostics": []})
        assert found == []


@pytest.mark.parametrize("name", list(PATTERNS))
def test_patterns_are_rules(server: Client, uri: str, name: str) -> None:
    """Where a statement begins, whole rules are offered, with places to fill; each means something as it stands."""
    server.change(uri, PROGRAM)
    items = ask(server, "completion", uri, {"line": 11, "character": 0})["items"]
    (item,) = [each for each in items if each["label"] == name]
    assert item["insertTextFormat"] == 2
    rule = re.sub(r"\$\{\d+:([^}]*)\}|\$0", r"\1", item["insertText"])
    assert format_text(f"{rule}\n") == f"{rule}\n"
    tidelog.compile(f"timeline integer, unit 1 s.\n{rule}")


def test_formatting(server: Client, uri: str) -> None:
    """As `tidelog fmt`; what is formatted is not touched, what cannot be read neither."""
    options = {"tabSize": 4, "insertSpaces": True}
    untidy = PROGRAM.replace(", ", " ,").replace("boxminus", "BOXMINUS")
    server.change(uri, untidy)
    edits = server.request("textDocument/formatting", textDocument={"uri": uri}, options=options)
    assert edited(untidy, edits) == format_text(untidy) == PROGRAM
    server.change(uri, PROGRAM)
    assert server.request("textDocument/formatting", textDocument={"uri": uri}, options=options) == []
    server.change(uri, PROGRAM + "p(")
    assert server.request("textDocument/formatting", textDocument={"uri": uri}, options=options) is None


# --- the process --------------------------------------------------------------------------------------------------------


@pytest.mark.slow
def test_a_signal_ends_it() -> None:
    """At once: there is nothing to bring to an end."""
    command = [sys.executable, "-m", "tidelog", "lsp"]
    with child(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, bufsize=0) as process:
        spoken = Client(process)
        spoken.request("initialize", processId=None, rootUri=None, capabilities={})
        os.kill(process.pid, signal.SIGTERM)
        assert process.wait(WAIT) == -signal.SIGTERM


def test_without_pygls_it_says_what_is_missing(tmp_path: Path) -> None:
    """The extra is named; nothing else of the command line needs it."""
    code = "import sys; sys.modules['pygls'] = None; from tidelog.cli import main; sys.exit(main(['lsp']))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 2
    assert "install `tidelog[lsp]`" in done.stderr
