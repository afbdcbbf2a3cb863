"""The parser's tables in `plans/language/grammar.json` are those of `plans/language/grammar.lark`.

TIDELOG_GOLDEN=write writes the file anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest
from lark import Lark

from tidelog.plans.language import grammar_table, parser
from tidelog.plans.language.grammar_table import load_grammar, make_table
from tidelog.plans.language.tree_builder import TreeBuilder

TABLE = Path(parser.__file__).with_name("grammar.json")
RULE = "boxplus[0,1] p(X) :- q(X, Y), not (r(Y) since[0,2] s@T), Y >= -2"


def test_the_table_is_that_of_the_grammar() -> None:
    """Whoever changes the grammar writes the table anew; another version of lark is no reason to."""
    if os.environ.get("TIDELOG_GOLDEN") == "write":
        TABLE.write_text(make_table(), "utf-8")
    stored, made = json.loads(TABLE.read_text("utf-8")), json.loads(make_table())
    versions = stored.pop("lark"), made.pop("lark")
    assert stored == made or versions[0] != versions[1]
    assert stored["grammar"] == made["grammar"]


def test_a_table_of_another_grammar_is_not_used(monkeypatch: pytest.MonkeyPatch) -> None:
    """The grammar is compiled then, and reads the same."""
    expected = load_grammar(TreeBuilder()).parse(RULE, start="rule")
    stale = json.dumps({**json.loads(TABLE.read_text("utf-8")), "grammar": "of yesterday"})
    read = grammar_table._read
    monkeypatch.setattr(grammar_table, "_read", lambda name: stale if name == "grammar.json" else read(name))
    compiled = load_grammar(TreeBuilder())
    assert compiled.source_path != "<deserialized>"
    assert compiled.parse(RULE, start="rule") == expected


def test_a_fresh_process_compiles_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """With the version of lark that the table is of, the tables are read."""
    monkeypatch.setattr(grammar_table.lark, "__version__", json.loads(TABLE.read_text("utf-8"))["lark"])
    monkeypatch.setattr(grammar_table, "_compile", lambda *_: pytest.fail("the grammar was compiled"))
    assert isinstance(load_grammar(TreeBuilder()), Lark)
