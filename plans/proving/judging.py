"""Findings about the rules of a program, each of them proved.

- A rule is dead where all cases of its body are contradictory (`assuming.py`, `entailing.py`); an output never holds where
  all its rules are dead and no data may bring it.
- A rule is needless where, in each case of its body, its head is proved by the others. The least model of the others is
  then closed under it too, so it is the least model of all; with negation so stratum by stratum.
- A condition is needless where it is proved by the others of its body.
- Two outputs always come together where each rule of either proves the other; never, where both at once are refuted.
- An output never ends where, a moment in which a rule derives it being given, it is proved at any later time.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import combinations

from tidelog.plans.diagnostics.errors import Diagnostic, Note
from tidelog.plans.language.printing import format_formula
from tidelog.plans.proving.assuming import DEPTH
from tidelog.plans.proving.budget import Budget, Question, Spent, why
from tidelog.plans.proving.case import Bound, Case, Range, at
from tidelog.plans.proving.emptiness import empty_predicates
from tidelog.plans.proving.entailing import Prover
from tidelog.plans.proving.lasting import keeps_itself_up
from tidelog.plans.proving.rulebook import Clause, Rulebook
from tidelog.plans.tree.declared.alarms import Alarm, alarms_of, is_of_alarm
from tidelog.plans.tree.names import predicates, variables
from tidelog.plans.tree.reaching import reachable
from tidelog.plans.tree.syntax import Atom, Formula, Variable

STEPS = 2500
"""So many steps for each question."""
ENDING = "whether it ever ends"
_NO_RULES = tuple("" for _ in range(DEPTH))
"""A path so long that no rule is put in."""


@dataclass
class Judge:
    """What is proved of a program. Rules go by their numbers, and parts of bodies by their places.

    `dead` are rules that never derive anything, each with parts that never hold together; `undecided` questions that were
    not decided within the budget.
    """

    book: Rulebook
    is_over: Callable[[], bool] = lambda: False
    dead: dict[int, tuple[int, ...]] = field(default_factory=dict)
    needless: list[int] = field(default_factory=list)
    needless_parts: list[tuple[int, int]] = field(default_factory=list)
    alike: list[tuple[str, str]] = field(default_factory=list)
    lasting_ones: list[str] = field(default_factory=list)
    undecided: list[Question] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._budget = Budget(STEPS, lambda: self.is_over())  # noqa: PLW0108 - it is another one later
        self._alarms: tuple[Alarm, ...] = alarms_of(self.book.program)

    def _prover(self, book: Rulebook | None = None) -> Prover:
        return Prover(self.book if book is None else book, self._budget)

    def _decided(self, question: str, of: str, ask: Callable[[], bool]) -> bool:
        """The answer to a question; False, and noted, where it is not decided within the budget, or nests too deeply."""
        self._budget.renew()
        try:
            return ask()
        except (Spent, RecursionError):
            self.undecided.append(Question(question, of, why(self.is_over())))
            return False

    def _clauses(self) -> Iterator[Clause]:
        """The rules that somebody has written."""
        for name, clauses in self.book.clauses.items():
            if not is_of_alarm(name, self._alarms):
                yield from (clause for clause in clauses if clause.rule.assigns != "holds")

    def _line(self, clause: Clause) -> str:
        return f"line {self.book.program.text.count(chr(10), 0, clause.rule.span.start) + 1}"

    # --- what never holds -----------------------------------------------------------------------------------------------

    def find_dead(self) -> None:
        """Find the rules that never derive anything, and the predicates that never hold, until there are no more."""
        found = True
        while found:
            self.book = replace(self.book, empty=empty_predicates(self.book, self.dead))
            found = False
            for clause in self._clauses():
                if clause.number not in self.dead and self._is_dead(clause):
                    self.dead[clause.number] = self._core(clause)
                    found = True

    def _is_dead(self, clause: Clause) -> bool:
        return self._decided("whether the rule can hold", self._line(clause), lambda: self._refutes(clause, None))

    def _refutes(self, clause: Clause, places: Sequence[int] | None) -> bool:
        """Whether the body, or the parts of it at these places, never hold."""
        prover = self._prover()
        case = Case()
        body = self.book.renamed(clause).body
        parts = body if places is None else tuple(body[place] for place in places)
        return prover.refutes(case, parts, prover.assumer.now(case))

    def _core(self, clause: Clause) -> tuple[int, ...]:
        """Parts of a body that never hold together, none of which can be left out."""
        places = list(range(len(clause.body)))
        for place in list(places):
            less = [other for other in places if other != place]
            self._budget.renew()
            try:
                if self._refutes(clause, less):
                    places = less
            except (Spent, RecursionError):
                return tuple(places)
        return tuple(places)

    def is_empty(self, predicate: str) -> bool:
        """Whether it is proved that a predicate never holds."""
        return predicate in self.book.empty

    def never(self, outputs: Iterable[str]) -> Iterator[Diagnostic]:
        """Outputs that never hold, and rules that never derive anything."""
        told: set[int] = set()
        for name in outputs:
            clauses = self.book.clauses.get(name, ())
            if self.is_empty(name) and clauses:
                first, *rest = clauses
                told.update(clause.number for clause in clauses)
                notes = tuple(Note(clause.rule.span, self._why(clause)) for clause in rest)
                yield _finding("never-holds", f"`{name}` can never hold", first, self._why(first), notes)
        for clause in self._clauses():
            if clause.number in self.dead and clause.number not in told:
                yield _finding("dead-rule", "the rule can never derive anything", clause, self._why(clause))

    def _why(self, clause: Clause) -> str:
        if clause.number not in self.dead:
            return "never holds"
        parts = [clause.rule.body[place] for place in self.dead[clause.number]]
        texts = [f"`{format_formula(part)}`" for part in parts]
        if len(parts) == 1:
            missing = isinstance(parts[0], Atom) and not self.book.of(parts[0].predicate) and not self._is_brought(parts[0])
            return f"nothing brings {texts[0]}" if missing else f"{texts[0]} never holds"
        return f"{', '.join(texts[:-1])} and {texts[-1]} never hold together"

    def _is_brought(self, atom: Atom) -> bool:
        return atom.predicate in self.book.open or atom.predicate in self.book.facts

    # --- what is needless -----------------------------------------------------------------------------------------------

    def needless_rules(self) -> Iterator[Diagnostic]:
        """Rules that derive nothing which the others do not derive."""
        gone: list[int] = list(self.dead)
        for clause in self._clauses():
            others = [other for other in self.book.of(clause.head.predicate) if other.number not in (*gone, clause.number)]
            if clause.number in gone or not others:
                continue
            without = [*gone, clause.number]
            if not self._decided(
                "whether the rule is needed", self._line(clause), partial(self._is_needless, clause, without)
            ):
                continue
            self.needless.append(clause.number)
            by = next((other for other in others if self._makes_needless(other, clause, gone)), None)
            label = "the others derive all that it does"
            notes: tuple[Note, ...] = ()
            if by is not None:
                label, notes = "another rule derives all that it does", (Note(by.rule.span, "this one"),)
            yield _finding(
                "needless-rule", "the rule is needless", clause, label, notes, "take one of them away, or change it"
            )
            gone.append(clause.number)

    def _makes_needless(self, other: Clause, clause: Clause, gone: Sequence[int]) -> bool:
        rest = [each.number for each in self.book.clauses[clause.head.predicate] if each is not other]
        self._budget.renew()
        try:
            return self._is_needless(clause, [*gone, *rest])
        except (Spent, RecursionError):
            return False

    def _is_needless(self, clause: Clause, without: Iterable[int]) -> bool:
        book = self.book.leaving_out(*without)
        return any(self._proves_head(book, clause, path) for path in (_NO_RULES, ()))

    def _proves_head(self, book: Rulebook, clause: Clause, path: tuple[str, ...]) -> bool:
        """Whether the head of a rule is proved by others in each case of its body."""
        prover = self._prover(book)
        case = Case()
        new = book.renamed(clause)
        now = prover.assumer.now(case)
        head, when = replace(new.head, at=None), _reached(new, now)
        return all(
            prover.is_contradictory(found) or prover.proves(found, (head,), when)
            for found in prover.assumer.assume(case, new.body, now, path)
        )

    def needless_conditions(self) -> Iterator[Diagnostic]:
        """Conditions that hold whenever the others of their rule do."""
        for clause in self._clauses():
            if clause.number in self.dead:
                continue
            gone: list[int] = []
            for place, part in enumerate(clause.body):
                kept = [other for other in range(len(clause.body)) if other not in (*gone, place)]
                bound = set(variables(*(clause.body[other] for other in kept)))
                if not kept or not set(variables(part)) <= bound:
                    continue
                text = format_formula(clause.rule.body[place])
                of = f"`{text}` in {self._line(clause)}"
                if self._decided("whether the condition is needed", of, partial(self._follows, clause, kept, place)):
                    gone.append(place)
                    self.needless_parts.append((clause.number, place))
                    enough = self._enough(clause, kept, place)
                    label = f"it holds whenever {_and(clause.rule.body[other] for other in enough)} {_do(enough)}"
                    found = _finding("needless-condition", f"the condition `{text}` is needless", clause, label)
                    yield replace(found, span=clause.rule.body[place].span)

    def _enough(self, clause: Clause, kept: Sequence[int], place: int) -> list[int]:
        """Parts by which another is proved, none of which can be left out."""
        enough = list(kept)
        for other in kept:
            less = [each for each in enough if each != other]
            self._budget.renew()
            try:
                if less and self._follows(clause, less, place):
                    enough = less
            except (Spent, RecursionError):
                break
        return enough

    def _follows(self, clause: Clause, kept: Sequence[int], place: int) -> bool:
        prover = self._prover()
        case = Case()
        body = self.book.renamed(clause).body
        now = prover.assumer.now(case)
        parts = [body[other] for other in kept]
        return any(
            all(
                prover.is_contradictory(found) or prover.proves(found, (body[place],), now)
                for found in prover.assumer.assume(case, parts, now, path)
            )
            for path in (_NO_RULES, ())
        )

    def _judged(self, outputs: Iterable[str]) -> list[str]:
        """The outputs that hold by rules alone, and do hold."""
        return [name for name in outputs if self.book.of(name) and name not in self.book.open and not self.is_empty(name)]

    def _related(self, names: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Pairs that have to do with each other: what rests on other inputs may hold whether the other does or not."""
        resting = {name: self._inputs(name) for name in names}
        return (pair for pair in combinations(resting, 2) if not resting[pair[0]].isdisjoint(resting[pair[1]]))

    def _inputs(self, predicate: str) -> set[str]:
        """What data may bring of all that a predicate is derived from, calendars included."""
        read = {
            name: {each for clause in self.book.of(name) for part in clause.body for each in predicates(part)}
            for name in self.book.clauses
        }
        return reachable([predicate], lambda name: read.get(name, ())) & self.book.open

    # --- outputs beside each other --------------------------------------------------------------------------------------

    def together(self, outputs: Iterable[str]) -> Iterator[Diagnostic]:
        """Pairs of outputs that always hold together."""
        names = self._judged(outputs)
        for one, other in self._related(names):
            first, second = self.book.of(one), self.book.of(other)
            if len(first[0].head.arguments) != len(second[0].head.arguments):
                continue
            if self._decided("whether they always hold together", f"`{one}` and `{other}`", partial(self._same, one, other)):
                self.alike.append((one, other))
                notes = (Note(first[0].rule.span, f"`{one}` is derived here"),)
                message = f"`{one}` and `{other}` always hold together"
                yield _finding("always-together", message, second[0], "neither says more than the other", notes)

    def _same(self, one: str, other: str) -> bool:
        return self._implies(one, other) and self._implies(other, one)

    def _implies(self, one: str, other: str) -> bool:
        """Whether each rule of one predicate proves another of the same arguments."""
        if self.book.facts.get(one):
            return False
        return all(self._proves(clause, other) for clause in self.book.of(one))

    def is_below(self, clause: Clause, other: str) -> bool:
        """Whether it is proved that what a rule derives holds by another predicate of the same arguments, too."""
        size = len(clause.head.arguments)
        if any(len(each.head.arguments) != size for each in self.book.of(other)):
            return False
        return self._decided("whether it says no more", self._line(clause), partial(self._proves, clause, other))

    def _proves(self, clause: Clause, other: str) -> bool:
        prover = self._prover()
        case = Case()
        new = self.book.renamed(clause)
        now = prover.assumer.now(case)
        head, when = Atom(other, new.head.arguments), _reached(new, now)
        return all(
            prover.is_contradictory(found) or prover.proves(found, (head,), when)
            for found in prover.assumer.assume(case, new.body, now)
        )

    def excluding(self, outputs: Iterable[str]) -> Iterator[tuple[str, str]]:
        """Pairs of outputs that never hold at one time of the same things."""
        names = self._judged(outputs)
        for one, other in self._related(names):
            size = len(self.book.of(one)[0].head.arguments)
            if size != len(self.book.of(other)[0].head.arguments):
                continue
            terms = tuple(Variable(self.book.fresh("_")) for _ in range(size))
            both = partial(self._excludes, Atom(one, terms), Atom(other, terms))
            if self._decided("whether they ever hold together", f"`{one}` and `{other}`", both):
                yield one, other

    def _excludes(self, *atoms: Formula) -> bool:
        prover = self._prover()
        case = Case()
        return prover.refutes(case, atoms, prover.assumer.now(case))

    # --- ends -----------------------------------------------------------------------------------------------------------

    def lasts(self, predicate: str) -> bool:
        """Whether it is proved that a predicate, once it holds, holds for ever."""
        if not self.book.of(predicate) or predicate in self.book.open or predicate in self.book.facts:
            return False
        if self.keeps_itself_up(predicate):
            return True
        return self._decided(ENDING, f"`{predicate}`", partial(self._lasts, predicate))

    def keeps_itself_up(self, predicate: str) -> bool:
        """Whether one rule alone keeps a predicate up for ever."""
        return any(keeps_itself_up(clause, self.book.is_integer) for clause in self.book.of(predicate))

    def _lasts(self, predicate: str) -> bool:
        prover = self._prover()
        for clause in self.book.of(predicate):
            case = Case()
            new = self.book.renamed(clause)
            now, later = prover.assumer.now(case), prover.assumer.now(case)
            case.be_before(_reached(new, now).low, later.low)
            for found in prover.assumer.assume(case, new.body, now):
                if not prover.is_contradictory(found) and not prover.proves(found, (replace(new.head, at=None),), later):
                    return False
        return True

    def lasting(self, outputs: Iterable[str]) -> Iterator[Diagnostic]:
        """Outputs that never end."""
        for name in outputs:
            if not self.is_empty(name) and self.lasts(name):
                self.lasting_ones.append(name)
                label = "what makes it hold is never over"
                yield _finding("never-ends", f"`{name}` never ends once it has begun", self.book.of(name)[0], label)

    # --- alarms ---------------------------------------------------------------------------------------------------------

    def hidden(self) -> Iterator[Diagnostic]:
        """Alarms that are inhibited whenever they hold, or for ever once they have been inhibited."""
        for alarm in self._alarms:
            declared = alarm.declared
            if not declared.inhibitors or self.is_empty(alarm.name):
                continue
            active = self.book.of(alarm.part("active"))
            question = "whether the alarm is always inhibited"
            if active and self._decided(question, f"`{alarm.name}`", partial(self._refutes, active[0], None)):
                message = f"alarm `{alarm.name}` is inhibited whenever its condition holds"
                yield Diagnostic("hidden-for-ever", message, declared.span, "it is never active", severity="warning")
                continue
            for inhibitor in declared.inhibitors:
                if self.lasts(inhibitor.predicate):
                    message = f"`{inhibitor.predicate}` never ends: from its first time on it hides alarm `{alarm.name}`"
                    yield Diagnostic("hidden-for-ever", message, inhibitor.span, severity="warning")


def _reached(clause: Clause, now: Range) -> Range:
    """When the head of a rule holds, whose body holds now."""
    told = clause.head.at
    if told is not None:
        return at(Bound(told.variable.name, Fraction(told.shift)))
    return now.moved(clause.low, clause.high, left_open=clause.left_open, right_open=clause.right_open)


def _and(parts: Iterable[Formula]) -> str:
    texts = [f"`{format_formula(part)}`" for part in parts]
    return texts[0] if len(texts) == 1 else f"{', '.join(texts[:-1])} and {texts[-1]}"


def _do(parts: Sequence[int]) -> str:
    return "does" if len(parts) == 1 else "do"


def _finding(
    code: str, message: str, clause: Clause, label: str = "", notes: tuple[Note, ...] = (), help: str = ""
) -> Diagnostic:
    return Diagnostic(code, message, clause.rule.span, label, notes, help, "warning")
