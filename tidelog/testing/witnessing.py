"""Finding facts that make an output begin and end: each guess is run, and what does not run so is no witness."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from tidelog.plans.data.facts import Record
from tidelog.plans.plan.plan import Plan
from tidelog.plans.proving.budget import Budget, Spent
from tidelog.plans.proving.building import Builder
from tidelog.plans.proving.changing import variants
from tidelog.plans.proving.ending import endings
from tidelog.plans.proving.guessing import Fact, Guesser
from tidelog.plans.proving.numbers.thresholds import Band, bands_of, crossing
from tidelog.plans.proving.rulebook import Rulebook
from tidelog.plans.proving.series import series
from tidelog.plans.tree.declared.machines import machine_of
from tidelog.plans.tree.syntax import Atom, CalendarDeclaration, Constant, Field, Input, Latest, Value
from tidelog.plans.tree.walk import statements_of
from tidelog.testing.moments import Moments
from tidelog.testing.trying import Runner, narrowed

_GUESSES = 400
_ENOUGH = 12
_WITHOUT_END = 60
"""Of so many witnesses that do not end, one is taken, and what may end it is looked for."""
_CHANGED = 10
_STEPS = 40_000
_READINGS = tuple(map(Fraction, range(12)))
"""When the same value is read again and again."""
_FLAPS = 4
"""A state that comes so often meanwhile flaps."""


@dataclass(frozen=True, slots=True)
class Witness:
    """Facts, and what the engine tells of them: `told` are the records of one output, in maximal intervals.

    It `ends` where an answer has an end for sure, and not only because a stream that is so short is followed no further.
    """

    predicate: str
    facts: tuple[Fact, ...]
    told: tuple[Record, ...]
    ends: bool

    @property
    def size(self) -> tuple[int, Fraction, int]:
        """What makes a witness long: its facts, then the time that they take."""
        times = [Fraction(time) for fact in self.facts for time in (fact.low, fact.high)]
        return len(self.facts), max(times, default=Fraction(0)) - min(times, default=Fraction(0)), len(self.told)


def fields_of(plan: Plan) -> Mapping[str, Sequence[Field]]:
    """The declared inputs of a program, with their fields."""
    return {item.predicate: item.fields for item in statements_of(plan.program, Input)}


class Searcher:
    """Looks for witnesses of a program's outputs."""

    def __init__(
        self,
        plan: Plan,
        book: Rulebook,
        is_over: Callable[[], bool] = lambda: False,
        beside: Sequence[tuple[Plan, Rulebook]] = (),
    ) -> None:
        """Facts are tried where calendars of this program change, or of those `beside` it."""
        self.is_over = is_over
        self._plan, self._book = plan, book
        self._programs = ((plan, book), *beside)
        calendars = {item.predicate for item in statements_of(plan.program, CalendarDeclaration)}
        told = frozenset(name for name, item in plan.schema.predicates.items() if item.accepts_input) - calendars
        self.fields = fields_of(plan)
        self._guesser = Guesser(self.fields, told)

    def witness(self, predicate: str, *, is_endless: bool = False) -> Witness | None:
        """The shortest facts found that make an output begin, and, where that was found, end; None where none were.

        Of what `is_endless`, as is proved, no end is looked for.
        """
        self.runner = Runner(narrowed(self._plan, predicate))
        self._moments = Moments(self._programs, predicate)
        found: list[Witness] = []
        guesses: list[tuple[Fact, ...]] = []
        for guess in self._guesses(predicate):
            guesses.append(guess)
            found += self._at_all_times(predicate, guess)
            ending = sum(item.ends for item in found)
            most = _ENOUGH if is_endless else _WITHOUT_END
            if self.is_over() or len(guesses) >= _GUESSES or ending >= _ENOUGH or len(found) - ending >= most:
                break
        if not found:
            found = self._first(predicate, self._changed(guesses[:_CHANGED]))
        if not found:
            found = self._first(predicate, series(self._book, self.fields, predicate))
        if not found:
            return None
        best = min(found, key=lambda item: (not item.ends, item.size))
        best = self._shrunk(best)
        return best if best.ends or is_endless else self._shrunk(self._ended(best))

    def _at_all_times(self, predicate: str, guess: Sequence[Fact]) -> list[Witness]:
        """The witnesses that a guess is, at the times at which it is tried."""
        tried = [self._tried(predicate, moved) for moved in self._moments.of(guess)]
        return [witness for witness in tried if witness is not None]

    def _changed(self, guesses: Sequence[tuple[Fact, ...]]) -> Iterator[tuple[Fact, ...]]:
        """Guesses with other values, and with facts beside them."""
        for guess in sorted(guesses, key=len):
            yield from variants(guess, (self._book,), self.fields)

    def _first(self, predicate: str, guesses: Iterable[tuple[Fact, ...]]) -> list[Witness]:
        """The first witnesses among guesses."""
        for facts in guesses:
            if self.is_over():
                return []
            found = self._at_all_times(predicate, facts)
            if found:
                return found
        return []

    def flapping(self) -> Iterator[tuple[Band, Band, Witness]]:
        """Assignments that undo each other while a reading stays the same, with what becomes of the state meanwhile."""
        for one, other, value in crossing(bands_of(self._book)):
            machine = machine_of(one.clause.head.predicate)
            if self.is_over() or machine not in self._plan.schema.predicates:
                continue
            self.runner = Runner(narrowed(self._plan, machine))
            reading = one.reading.atom if isinstance(one.reading, Latest) else one.reading
            if not isinstance(reading, Atom):
                continue
            facts = [Fact(time, time, reading.predicate, self._row(reading, one.place, value)) for time in _READINGS]
            witness = self._tried(machine, facts)
            if witness is not None and len(witness.told) >= _FLAPS:
                yield one, other, witness

    def _row(self, reading: Atom, place: int, value: Fraction) -> tuple[Value, ...]:
        """A row of a reading with this value."""
        fields = self.fields.get(reading.predicate, ())
        row: list[Value] = []
        for number, term in enumerate(reading.arguments):
            if number == place:
                row.append(int(value) if value.denominator == 1 else float(value))
            elif isinstance(term, Constant):
                row.append(term.value)
            else:
                field = fields[number] if number < len(fields) else Field("x")
                row.append(0 if field.type in ("number", "integer") else f"{field.name}1")
        return tuple(row)

    def moved_guesses(self, predicate: str) -> Iterator[tuple[Fact, ...]]:
        """Guesses of facts by which a predicate holds, at the times at which they are tried."""
        moments = Moments(self._programs, predicate)
        for number, guess in enumerate(self._guesses(predicate)):
            if number >= _GUESSES:
                return
            yield from moments.of(guess)

    def _tried(self, predicate: str, facts: Sequence[Fact]) -> Witness | None:
        told = self.runner.told(facts).get(predicate, ())
        return Witness(predicate, tuple(facts), told, self.runner.ends(predicate, facts)) if told else None

    def _guesses(self, predicate: str) -> Iterator[tuple[Fact, ...]]:
        """Facts that begin at time 0, each once."""
        seen: set[tuple[Fact, ...]] = set()
        budget = Budget(_STEPS, lambda: self.is_over())  # noqa: PLW0108 - it is another one for each output
        arity = self._plan.schema.predicates[predicate].arity
        try:
            for case in Builder(self._book, budget).holding(predicate, arity):
                facts = self._guesser.facts(case)
                if not facts:
                    continue
                first = min(fact.low for fact in facts)
                moved = tuple(fact.moved(-first) for fact in facts)
                if moved not in seen:
                    seen.add(moved)
                    yield moved
        except (Spent, RecursionError):  # bodies of hundreds of parts nest too deeply
            return

    def _shrunk(self, witness: Witness) -> Witness:
        """The witness without facts that it does not need."""
        for fact in witness.facts:
            if self.is_over():
                break
            less = [each for each in witness.facts if each != fact]
            found = self._tried(witness.predicate, less)
            if found is not None and found.ends >= witness.ends:
                witness = found
        return witness

    def _ended(self, witness: Witness) -> Witness:
        """The witness with a fact more that ends it, where one is found."""
        begin = min(lo for _, _, lo, _ in witness.told)
        time = self._plan.timeline.decode_point(begin)
        last = max((Fraction(fact.high) for fact in witness.facts), default=time)
        for facts in endings(self._book, self.fields, witness.facts, max(time, last)):
            if self.is_over():
                break
            found = self._tried(witness.predicate, (*witness.facts, *facts))
            if found is not None and found.ends:
                return found
        return witness
