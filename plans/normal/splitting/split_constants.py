"""Pass: a predicate whose rules name different constants, and negate each other, becomes a predicate for each of these."""

from __future__ import annotations

from dataclasses import replace

from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.normal.rewrite import taken_names
from tidelog.plans.tree.dependencies import Values, split_by_constants
from tidelog.plans.tree.names import FreshNames, head_predicate
from tidelog.plans.tree.syntax import Rule


def split_constants(program: NormalProgram) -> NormalProgram:
    """Split what would depend on its own negation at one time, where rules name the value that they give and negate.

    >>> from tidelog.plans.normal.normalise import text_after
    >>> rules = "state(V, on) :- cmd(V). state(V, off) :- valve(V), not state(V, on)."
    >>> print(text_after("split_constants", rules).partition("output state.")[2].strip())
    'state.2'(V, on) :- cmd(V).
    'state.1'(V) :- valve(V), not 'state.2'(V, on).
    'state.3'(V, off) :- 'state.1'(V).
    state(X1, on) :- 'state.2'(X1, on).
    state(X1, off) :- 'state.3'(X1, off).
    """
    fresh = FreshNames(taken_names(program))
    source_of = {id(rule): source for rule, source in zip(program.rules, program.sources, strict=True)}

    def name(rule: Rule, _values: Values) -> str:
        return fresh.name(source_of[id(rule)])

    given = {*program.inputs, *(fact.atom.predicate for fact in program.facts)}
    given |= {item.predicate for item in program.backgrounds}
    made = split_by_constants(program.rules, given, is_integer=program.timeline.kind == "integer", name=name)
    if made is None:
        return program
    return replace(
        program,
        rules=tuple(rule for rule, _ in made),
        sources=tuple(source_of[id(origin)] for _, origin in made),
        split=tuple(dict.fromkeys(head_predicate(origin.head) or "" for rule, origin in made if rule.head != origin.head)),
        origins={**program.origins, **fresh.made},
    )
