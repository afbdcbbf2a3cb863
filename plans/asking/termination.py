"""Whether the unfolding of a question ends (Cruz-Filipe, Gaspar and Nunes 2020, Propositions 9 and 10), before it is done.

Decided on predicates and their distances in time alone. Where no predicate depends on itself, unfolding ends, with several
time variables in a rule, too. A recursion may go round as long as it stays at one time, and carries no variable along that
it did not get from the head or from facts of the program: then there are finitely many goals, and one that stands above
itself adds nothing. `not` begins a query of its own, so no round leads through it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from itertools import pairwise

from tidelog.plans.asking.time_edges import TimeEdge, edges_of
from tidelog.plans.diagnostics.errors import Diagnostic, Note
from tidelog.plans.language.printing import format_formula
from tidelog.plans.plan.questions import Question
from tidelog.plans.tree.components import components
from tidelog.plans.tree.syntax import Atom, Comparison, Constant, Formula, Rule, Variable
from tidelog.plans.tree.traverse import spliced


def check_termination(question: Question, given: Iterable[str] = ()) -> Iterator[Diagnostic]:
    """The recursions of a question that have no end, the first of each component: none for one with a depth.

    `given` are the predicates that hold nothing but the program's facts and backgrounds.
    """
    if question.depth is not None:
        return
    known = frozenset(given) - question.inputs - {edge.head.predicate for edge in edges_of(question.rules)}
    for edges in recursions(edge for edge in edges_of(question.rules) if not edge.negated):
        cycle = _moving_cycle(edges)
        if cycle is not None:
            yield _endless(question, cycle, "at ever other times")
            continue
        found = next(((edge, name) for edge in edges for name in _brought_in(edge, known)), None)
        if found is not None:
            edge, name = found
            what = f"with ever other `{name}`" if name != "_" else "with ever other values of `_`"
            yield _endless(question, round_through(edge, edges), what)


def is_recursive(question: Question) -> bool:
    """Whether a predicate of the question depends on itself."""
    return any(recursions(edges_of(question.rules)))


def recursions(edges: Iterable[TimeEdge]) -> Iterator[list[TimeEdge]]:
    """The edges of each recursive component: those between predicates that depend on each other."""
    edges = list(edges)
    following: dict[str, list[str]] = {}
    for edge in edges:
        following.setdefault(edge.head.predicate, []).append(edge.atom.predicate)
        following.setdefault(edge.atom.predicate, [])
    for members in components(following):
        inside = frozenset(members)
        found = [edge for edge in edges if edge.head.predicate in inside and edge.atom.predicate in inside]
        if found:
            yield found


def round_through(first: TimeEdge, edges: Sequence[TimeEdge]) -> list[TimeEdge]:
    """A shortest cycle of a component that begins with this edge."""
    return [first, *way_between(first.atom.predicate, first.head.predicate, edges)]


def show_cycle(cycle: Sequence[TimeEdge]) -> str:
    """`s(X)@T+1 ← s(X)@T`, one for each rule on the way."""
    shown = dict.fromkeys(f"{format_formula(edge.rule.head)} ← {format_formula(edge.part)}" for edge in cycle)
    return ", ".join(shown)


def way_between(start: str, end: str, edges: Sequence[TimeEdge]) -> list[TimeEdge]:
    """The edges of a shortest way from one predicate of a component to another; none where they are the same."""
    found: dict[str, list[TimeEdge]] = {start: []}
    waiting = [start]
    for name in waiting:
        for edge in edges:
            if edge.head.predicate == name and edge.atom.predicate not in found:
                found[edge.atom.predicate] = [*found[name], edge]
                waiting.append(edge.atom.predicate)
    return found[end]


def _moving_cycle(edges: Sequence[TimeEdge]) -> list[TimeEdge] | None:
    """A cycle of a component that does not come back to the time where it began, or may not."""
    root = edges[0].head.predicate
    for edge in edges:
        if not edge.is_fixed:
            return round_through(edge, edges)
    names = dict.fromkeys(edge.head.predicate for edge in edges)
    times = {name: sum(edge.low for edge in way_between(root, name, edges)) for name in names}
    for edge in edges:
        if times[edge.head.predicate] + edge.low != times[edge.atom.predicate]:
            return _moving_part(edge, edges, root)
    return None


def _moving_part(edge: TimeEdge, edges: Sequence[TimeEdge], root: str) -> list[TimeEdge]:
    """Two ways lead to where the edge ends, and differ in length: with one of them some round moves in time."""
    back = way_between(edge.atom.predicate, root, edges)
    over = [*way_between(root, edge.head.predicate, edges), edge, *back]
    beside = [*way_between(root, edge.atom.predicate, edges), *back]
    rounds = [part for walk in (over, beside) for part in _simple_rounds(walk)]
    return min((part for part in rounds if sum(each.low for each in part) != 0), key=len)


def _simple_rounds(walk: Sequence[TimeEdge]) -> Iterator[list[TimeEdge]]:
    """The cycles, each predicate once, that a closed walk is made of."""
    path: list[TimeEdge] = []
    for edge in walk:
        path.append(edge)
        places = [i for i, each in enumerate(path) if each.head.predicate == edge.atom.predicate]
        if places:
            yield path[places[-1] :]
            del path[places[-1] :]


def _brought_in(edge: TimeEdge, known: frozenset[str]) -> Iterator[str]:
    """The variables of an atom that neither the head nor facts of the program bind."""
    bound = _bound(edge.rule, edge.head, known)
    for argument in edge.atom.arguments:
        if isinstance(argument, Variable):
            if argument.name not in bound:
                yield argument.name
        elif not isinstance(argument, Constant):
            yield "_"


def _bound(rule: Rule, head: Atom, known: frozenset[str]) -> set[str]:
    bound = _variables(head)
    if head.at is not None:
        bound.add(head.at.variable.name)
    for part in spliced(rule.body):
        if isinstance(part, Atom) and part.predicate in known:
            bound |= _variables(part)
    while new := {name for part in spliced(rule.body) for name in _equal(part, bound)} - bound:
        bound |= new
    return bound


def _variables(atom: Atom) -> set[str]:
    return {argument.name for argument in atom.arguments if isinstance(argument, Variable)}


def _equal(part: Formula, bound: set[str]) -> Iterator[str]:
    """The variable that a comparison makes equal to a constant or to a bound variable."""
    if isinstance(part, Comparison) and part.operator == "=":
        for one, other in pairwise((part.left, part.right, part.left)):
            is_known = isinstance(other, Constant) or (isinstance(other, Variable) and other.name in bound)
            if isinstance(one, Variable) and is_known:
                yield one.name


def _endless(question: Question, cycle: Sequence[TimeEdge], how: str) -> Diagnostic:
    asked, name = format_formula(question.query), cycle[0].head.predicate
    message = f"unfolding `{asked}` has no end, since `{name}` needs itself {how}: `{show_cycle(cycle)}`"
    help = "follow the recursion for some rounds alone, such as `tidelog ask --depth 5`, or bound it in the rules"
    notes = (Note(question.query.span, "asked here"),)
    return Diagnostic("endless-ask", message, cycle[0].part.span, "comes round here", notes, help)
