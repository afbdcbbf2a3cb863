"""Comparing preconditions and hypothetical answers, as the engine has them, with what the definitions say."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from oracle.grounding import expression_variables
from oracle.hypothetical import Answer, Supported, answers, columns_of
from oracle.values import Undefined, compare, evaluate_expression
from oracle.worlds import Fact, Table, listed
from tidelog.plans.plan.preconditions import START, Argument, Precondition, Premise, Slot
from tidelog.plans.plan.questions import GroundLiteral, HypotheticalAnswer, Open
from tidelog.plans.tree.syntax import Atom, Comparison, Program, Value, Variable

Pattern = tuple[Value | None, ...]
"""An answer with None where a column is open."""
Values = dict[int, Value]


def matches(pattern: Pattern, answer: Answer) -> bool:
    """Whether an answer has the pattern's values where it has any."""
    return all(a in (None, b) for a, b in zip(pattern, answer, strict=True))


# --- preconditions ------------------------------------------------------------------------------------------------


def is_instance(precondition: Precondition, answer: Answer, facts: Collection[Fact], start: int) -> bool:
    """Whether a substitution of the precondition's variables makes these its answer and its premises."""
    premises = precondition.premises
    if len(premises) != len(facts):
        return False
    given: Values = {}
    if not all(_bind(term, value, given) for term, value in zip(precondition.answer, answer, strict=True)):
        return False
    return any(_satisfies(precondition, values, start) for values in _assignments(list(premises), set(facts), given))


def instance(precondition: Precondition, values: Mapping[int, Value], start: int) -> tuple[Answer, frozenset[Fact]] | None:
    """The answer and the facts that these values give; None if the comparisons exclude them, or a time is no integer."""
    if not _satisfies(precondition, values, start):
        return None
    facts = set()
    for premise in precondition.premises:
        time = _value(premise.time, values)
        if not isinstance(time, int):
            return None
        facts.add((premise.predicate, tuple(_value(term, values) for term in premise.arguments), time))
    return tuple(_value(term, values) for term in precondition.answer), frozenset(facts)


def time_slots(precondition: Precondition) -> set[int]:
    """The variables that stand for times in premises."""
    return {premise.time.variable for premise in precondition.premises if isinstance(premise.time, Slot)}


def _assignments(premises: list[Premise], facts: set[Fact], values: Values) -> Iterator[Values]:
    if not premises:
        yield values
        return
    for name, row, time in facts:
        extended = dict(values)
        if name != premises[0].predicate:
            continue
        pairs = zip((*premises[0].arguments, premises[0].time), (*row, time), strict=True)
        if all(_bind(term, value, extended) for term, value in pairs):
            yield from _assignments(premises[1:], facts - {(name, row, time)}, extended)


def _bind(term: Argument, value: Value, values: Values) -> bool:
    if not isinstance(term, Slot):
        return term == value
    if not term.offset:
        return values.setdefault(term.variable, value) == value
    return isinstance(value, int) and values.setdefault(term.variable, value - term.offset) == value - term.offset


def _value(term: Argument, values: Mapping[int, Value]) -> Value:
    if not isinstance(term, Slot):
        return term
    value = values[term.variable]
    assert not term.offset or isinstance(value, int)
    return value + term.offset if term.offset and isinstance(value, int) else value


def _satisfies(precondition: Precondition, values: Mapping[int, Value], start: int) -> bool:
    """Whether the comparisons hold; what they alone give a value gets it from them."""
    named = {name: values[i] for i, name in enumerate(precondition.variables) if i in values} | {START: start}
    try:
        for _ in precondition.comparisons:
            for comparison in precondition.comparisons:
                _solve(comparison, named)
        return all(compare(comparison, named) for comparison in precondition.comparisons)
    except Undefined:
        return False


def _solve(equation: Comparison, named: dict[str, Value]) -> None:
    for one, other in ((equation.left, equation.right), (equation.right, equation.left)):
        is_unknown = isinstance(one, Variable) and one.name not in named and equation.operator == "="
        if is_unknown and isinstance(one, Variable) and expression_variables(other) <= {*named}:
            named[one.name] = evaluate_expression(other, named)


# --- hypothetical answers -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Triple:
    """A supported answer as it was told, its evidence as facts; absences are kept apart."""

    answer: Pattern
    evidence: frozenset[Fact]
    hypotheses: tuple[GroundLiteral, ...]
    absent: tuple[GroundLiteral, ...]
    where: tuple[Comparison, ...] = ()

    @property
    def is_ground(self) -> bool:
        """Whether nothing in it is open."""
        return None not in self.answer and not any(opens(literal) for literal in self.hypotheses)


def triple_of(told: HypotheticalAnswer, query: Atom) -> Triple:
    """What was told, with its columns in the query's order."""
    assert set(told.answer) == set(columns_of(query))
    return Triple(
        tuple(told.answer[name] for name in columns_of(query)),
        frozenset(fact_of(literal, {}) for literal in told.evidence if not literal.negated),
        tuple(literal for literal in told.hypotheses if not literal.negated),
        tuple(literal for literal in points((*told.evidence, *told.hypotheses)) if literal.negated),
        told.where,
    )


def points(literals: Iterable[GroundLiteral]) -> Iterator[GroundLiteral]:
    """The literals, those over a stretch of time one by one."""
    for literal in literals:
        first, last = literal.time, literal.until
        if isinstance(first, int) and isinstance(last, int):
            yield from (replace(literal, time=time, until=None) for time in range(first, last + 1))
        else:
            yield literal


def fulfils(where: Iterable[Comparison], values: Mapping[str, Value]) -> bool:
    """Whether the conditions hold of these values, as far as they tell."""
    known = [each for each in where if expression_variables(each.left) | expression_variables(each.right) <= values.keys()]
    try:
        return all(compare(condition, values) for condition in known)
    except Undefined:
        return False


def opens(literal: GroundLiteral) -> list[Open]:
    """The variables of a literal; the one of its time comes last."""
    return [term for term in (*literal.arguments, literal.time) if isinstance(term, Open)]


def fact_of(literal: GroundLiteral, values: Mapping[str, Value]) -> Fact:
    """The fact that the literal is, its variables replaced."""
    row = tuple(_replaced(term, values) for term in literal.arguments)
    time = _replaced(literal.time, values)
    assert isinstance(time, int)
    return literal.predicate, row, time


def _replaced(term: Value | Open, values: Mapping[str, Value]) -> Value:
    if not isinstance(term, Open):
        return term
    value = values[term.name]
    return value + term.offset if term.offset and isinstance(value, int) else value


def is_instance_of(supported: Supported, triple: Triple) -> bool:
    """Proposition 13: whether a substitution takes the triple to what the definitions give."""
    if not matches(triple.answer, supported.answer) or triple.evidence != supported.evidence:
        return False
    if len(triple.hypotheses) != len(supported.hypotheses):
        return False
    return _agree(list(triple.hypotheses), set(supported.hypotheses), {}, triple.where)


def _agree(literals: list[GroundLiteral], facts: set[Fact], values: dict[str, Value], where: tuple[Comparison, ...]) -> bool:
    """Whether a substitution that the conditions allow takes the literals to these facts, one to one."""
    if not literals:
        return fulfils(where, values)
    for fact in facts:
        extended = dict(values)
        if _unify(literals[0], fact, extended) and _agree(literals[1:], facts - {fact}, extended, where):
            return True
    return False


def _unify(literal: GroundLiteral, fact: Fact, values: dict[str, Value]) -> bool:
    if literal.predicate != fact[0]:
        return False
    for term, value in zip((*literal.arguments, literal.time), (*fact[1], fact[2]), strict=True):
        if isinstance(term, Open):
            least = value - term.offset if isinstance(value, int) else value
            if values.setdefault(term.name, least) != least:
                return False
        elif term != value:
            return False
    return True


@dataclass
class Claims:
    """Claims about many worlds, all checked by one table: `add` them, then `wrong` gives those that do not hold."""

    program: Program
    query: Atom
    start: int
    _worlds: dict[frozenset[Fact], int] = field(default_factory=dict)
    _claims: list[tuple[Pattern, int, bool, str]] = field(default_factory=list)

    def add(self, answer: Pattern, world: Collection[Fact], holds: bool, why: str) -> None:
        """That an answer of this pattern follows from exactly these facts, or that none does."""
        index = self._worlds.setdefault(frozenset(world), len(self._worlds))
        self._claims.append((answer, index, holds, why))

    def add_triple(self, triple: Triple, known: Collection[Fact], hypotheses: Collection[Fact]) -> None:
        """That Definitions 1 and 2 hold of ⟨θ, H, E⟩: it follows from E ∪ H, and H and E are minimal."""
        answer, evidence, given = triple.answer, triple.evidence, frozenset(hypotheses)
        why = f"{answer} E={sorted(evidence, key=repr)} H={sorted(given, key=repr)} D={sorted(known, key=repr)}"
        self.add(answer, evidence | given, True, f"{why}: E ∪ H does not entail it")
        for fact in given:
            self.add(answer, given.union(known) - {fact}, False, f"{why}: H is not minimal, {fact} is not needed")
        for fact in evidence:
            self.add(answer, (evidence | given) - {fact}, False, f"{why}: E is not minimal, {fact} is not needed")

    def wrong(self) -> list[str]:
        """The claims that are not so."""
        table = Table(self.program, listed(list(self._worlds)), len(self._worlds), self.start)
        found = answers(table, self.query)
        return [
            why
            for pattern, index, holds, why in self._claims
            if any(mask >> index & 1 for answer, mask in found.items() if matches(pattern, answer)) != holds
        ]


def patterns_of(told: Iterable[HypotheticalAnswer], query: Atom, *statuses: str) -> list[Pattern]:
    """The answers that were told with one of these statuses."""
    names = columns_of(query)
    return [tuple(item.answer[name] for name in names) for item in told if item.status in statuses]
