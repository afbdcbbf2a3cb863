"""The parser's tables as JSON beside the grammar, so that they are not computed anew in each process.

`grammar.json` says of which grammar and of which version of lark it is. Of any other it is not used: then the grammar is
compiled, which takes ten times as long and gives the same. A test compares the two, and writes the file with
`TIDELOG_GOLDEN=write`. The text of the file depends on the grammar alone: lark numbers states as its sets happen to be
ordered, here they are numbered from the start.
"""

from __future__ import annotations

import hashlib
import json
from functools import cache
from pkgutil import get_data
from typing import Any, cast

import lark
from lark import Lark, TextSlice, Transformer
from lark.grammar import Rule
from lark.lexer import Lexer, LexerState, LexerThread, LineCounter, TerminalDef

STARTS = ("rule", "fact", "directive")
_SHIFT = 0


def load_grammar(transformer: Transformer[Any, Any]) -> Lark:
    """A parser of the grammar that calls this transformer."""
    text = _read("grammar.lark")
    table = json.loads(_read("grammar.json"))
    if (table["grammar"], table["lark"]) != (_digest(text), lark.__version__):
        return _compile(text, transformer, _plugins=_PLUGINS)
    return Lark.load(cast(Any, _as_lark_has_it(table["parser"], transformer)))


@cache
def make_table() -> str:
    """What `grammar.json` has to hold."""
    text = _read("grammar.lark")
    data, memo = _compile(text, None).memo_serialize([TerminalDef, Rule])
    parser = _renumber(_sort(data, memo))
    table = {"grammar": _digest(text), "lark": lark.__version__, "parser": parser}
    return json.dumps(table, sort_keys=True, separators=(",", ":")) + "\n"


def _read(name: str) -> str:
    return (get_data("tidelog.plans.language", name) or b"").decode("utf-8")


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


def _compile(text: str, transformer: Transformer[Any, Any] | None, **plugins: Any) -> Lark:
    options: dict[str, Any] = {"parser": "lalr", "lexer": "contextual", "maybe_placeholders": False, **plugins}
    return Lark(text, start=list(STARTS), transformer=transformer, **options)


class _Thread(LexerThread):
    """Reads a piece of a text from its begin, without counting the lines before it: places are offsets alone."""

    @classmethod
    def from_text(cls, lexer: Lexer, text_or_slice: Any) -> _Thread:
        counter = cast(Any, LineCounter)("\n")
        piece: TextSlice[str] = TextSlice.cast_from(text_or_slice)
        counter.char_pos = piece.start
        return cls(lexer, LexerState(piece, counter))


_PLUGINS = {"LexerThread": _Thread}


def _as_lark_has_it(parser: dict[str, Any], transformer: Transformer[Any, Any]) -> dict[str, Any]:
    """JSON with the numbers as keys that JSON cannot have, and the options that are no data."""
    parser["memo"] = _numbered(parser["memo"])
    table = parser["data"]["parser"]["parser"]
    table["tokens"] = _numbered(table["tokens"])
    table["states"] = {int(state): _numbered(row) for state, row in table["states"].items()}
    parser["data"]["options"] |= {"transformer": transformer, "_plugins": _PLUGINS}
    return parser


def _numbered(row: dict[str, Any]) -> dict[int, Any]:
    return {int(key): value for key, value in row.items()}


def _sort(data: Any, memo: dict[int, Any]) -> dict[str, Any]:
    """Terminals and rules in the order of their texts."""
    order = sorted(memo, key=lambda number: json.dumps(memo[number], sort_keys=True))
    places = {number: place for place, number in enumerate(order)}

    def replace(value: Any) -> Any:
        if isinstance(value, dict):
            return {"@": places[value["@"]]} if "@" in value else {key: replace(item) for key, item in value.items()}
        return [replace(item) for item in value] if isinstance(value, list | tuple) else value

    return {"data": replace(data), "memo": {places[number]: value for number, value in memo.items()}}


def _renumber(parser: dict[str, Any]) -> dict[str, Any]:
    """Tokens by their names, states in the order in which they are met from the starts on."""
    table = parser["data"]["parser"]["parser"]
    names = sorted(table["tokens"].values())
    rows = {state: {table["tokens"][key]: move for key, move in row.items()} for state, row in table["states"].items()}
    places: dict[int, int] = {}
    waiting = [table["start_states"][start] for start in STARTS]
    for state in waiting:  # it grows meanwhile
        if state not in places:
            places[state] = len(places)
            waiting += [target for _, (action, target) in sorted(rows[state].items()) if action == _SHIFT]
    parser["data"]["parser"]["parser"] = {
        "tokens": dict(enumerate(names)),
        "states": {places[state]: _moves(row, names, places) for state, row in rows.items()},
        "start_states": {start: places[state] for start, state in table["start_states"].items()},
        "end_states": {start: places[state] for start, state in table["end_states"].items()},
    }
    return parser


def _moves(row: dict[str, Any], names: list[str], places: dict[int, int]) -> dict[int, Any]:
    return {
        names.index(name): [action, places[target] if action == _SHIFT else target] for name, (action, target) in row.items()
    }
