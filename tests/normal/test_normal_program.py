"""What the normal form says besides its rules, and what holds of every one."""

from __future__ import annotations

import doctest
import importlib
import pkgutil

import pytest
from hypothesis import given
from hypothesis import strategies as st

import tidelog.plans.normal
from drawing import drawn
from oracle.programs import EVERYTHING, programs
from tidelog.plans.diagnostics.errors import ProgramError
from tidelog.plans.language.parser import parse
from tidelog.plans.language.printing import format_program
from tidelog.plans.normal.form import form_of
from tidelog.plans.normal.normalise import STAGES, normalise, run_stages
from tidelog.plans.normal.program import as_program
from tidelog.plans.tree.names import head_predicate
from tidelog.plans.tree.syntax import Program, Rule

NETWORK = """
input Signal(name).
Flag(X,Z) :- Monit(X,Z), boxminus[0,4] diamondminus[0,2] Signal(Z).
boxplus[0,3] Monit(X,Z) :- Flag(Y,Z), Connect(X,Y).
bottom :- Flag(X,_), Off(X).
Connect(n1,n2).
"""


def test_statements_by_kind() -> None:
    """Inputs, outputs and facts are those of the text, and fresh predicates are no outputs."""
    normal = normalise(parse(NETWORK))
    assert normal.inputs == ("Signal", "Off")
    assert normal.outputs == ("Flag", "Monit")
    assert [fact.atom.predicate for fact in normal.facts] == ["Connect"]
    assert [declaration.predicate for declaration in normal.declarations] == ["Signal"]


def test_fresh_predicates_tell_their_origin() -> None:
    """Each fresh predicate and each rule leads back to the rule of the text, each constraint to its own."""
    program = parse(NETWORK)
    flag, monit, constraint = (item for item in program.statements if isinstance(item, Rule))
    normal = normalise(program)
    assert normal.origins == {"Flag.1": flag, "Flag.2": flag, "Monit.1": monit, "bottom.1": constraint}
    assert normal.constraints == {"bottom.1": constraint}
    assert normal.sources == (flag, flag, flag, monit, monit, constraint)
    assert [rule.span for rule in normal.rules] == [source.span for source in normal.sources]


def test_keep_replaces_the_outputs() -> None:
    """Only what the kept predicates and the constraints need stays."""
    program = parse("output a. a :- b, c. b :- d. c :- e. bottom :- f. f :- g.")
    assert [head_predicate(rule.head) for rule in normalise(program).rules] == ["a", "b", "c", "bottom.1", "f"]
    assert [head_predicate(rule.head) for rule in normalise(program, ["c"]).rules] == ["c", "bottom.1", "f"]


def test_constraint_that_never_breaks_goes() -> None:
    """A constraint whose body is never true leaves no predicate behind."""
    normal = normalise(parse("p :- q. bottom :- q, not top."))
    assert (normal.constraints, len(normal.rules)) == ({}, 1)


def test_each_pass_can_be_shown() -> None:
    """The passes run one by one, in their order, and the last one's program is the normal form."""
    shown = dict(run_stages(parse(NETWORK)))
    assert list(shown) == [stage.__name__ for stage in STAGES]
    assert shown["prune"] == normalise(parse(NETWORK))


@pytest.mark.parametrize("module", [item.name for item in pkgutil.iter_modules(tidelog.plans.normal.__path__)])
def test_docstring_examples(module: str) -> None:
    """The example of each pass runs, and shows what the pass does."""
    found = importlib.import_module(f"tidelog.plans.normal.{module}")
    failed, attempted = doctest.testmod(found)
    assert failed == 0
    assert attempted > 0 or module not in {stage.__name__ for stage in STAGES}


@pytest.mark.slow
def test_deep_nesting_stays_small() -> None:
    """The normal form of alternating operators grows with their number, not with its powers."""
    boxes = "p(X) :- a(X), " + "boxminus[0,1] not " * 45 + "b(X)."
    sinces = "p(X) :- " + "not b(X) since[0,1] (" * 45 + "r(X)" + ")" * 45 + "."
    assert len(normalise(parse(boxes)).rules) < 200
    assert len(normalise(parse(sinces)).rules) < 2000


@pytest.mark.slow
@given(st.sampled_from(("rational", "integer")).flatmap(lambda kind: programs(kind, EVERYTHING)))
@drawn(150)
def test_laws_of_every_normal_form(program: Program) -> None:
    """Each rule has one operator, the text reads back, and normalising again changes nothing."""
    try:
        normal = normalise(program)
    except ProgramError as error:
        assert {finding.code for finding in error.diagnostics} == {"not-supported"}
        return
    assert None not in map(form_of, normal.rules)
    assert normalise(program) == normal
    written = as_program(normal)
    assert parse(format_program(written)).statements == written.statements
    unconstrained = [item for item in written.statements if head_of(item) != "bottom"]
    again = normalise(Program(tuple(unconstrained)), [*normal.kept, *normal.constraints])
    assert again.rules == normal.rules


def head_of(statement: object) -> str:
    """The head's predicate, `bottom` for a constraint, empty for other statements."""
    return (head_predicate(statement.head) or "bottom") if isinstance(statement, Rule) else ""
