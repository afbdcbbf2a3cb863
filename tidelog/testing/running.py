"""Running tests: each in sessions of its own, its facts one by one, in the order in which they stand."""

from __future__ import annotations

import os
import re
import time
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property

from tidelog.compiling import compile_path, compile_states_path
from tidelog.connectors.formats.json.encoder import JsonEncoder
from tidelog.connectors.formats.text.encoder import TextEncoder
from tidelog.plans.data.facts import Record
from tidelog.plans.data.times import TimeReader
from tidelog.plans.diagnostics.errors import DataError, SpecError, TidelogError
from tidelog.plans.diagnostics.suggestions import suggest
from tidelog.plans.plan.plan import Plan
from tidelog.plans.plan.questions import HypotheticalAnswer
from tidelog.runtime.emission.violations import Violation
from tidelog.runtime.ports.interfaces import Batch, EmitMode, Rejected
from tidelog.runtime.sessions.session import Session
from tidelog.testing.comparing import VIOLATED, Difference, Expectations, coalesced, compare, compare_texts, line_of
from tidelog.testing.coverage import fired_rules
from tidelog.testing.files import Lines, RuleTest, TestSuite
from tidelog.testing.reasons import with_reasons
from tidelog.testing.written import FactReader

_SOURCE = "facts"
_DATE = re.compile(r"[@\[(,\"]\s*\d{4}-\d\d-\d\d")


@dataclass(frozen=True, slots=True)
class Told:
    """What was told of a test's facts, as lines: of its answers, at single times, and of its questions."""

    expect: tuple[str, ...] | None = None
    at: dict[str, tuple[str, ...]] = field(default_factory=dict)
    asks: tuple[str, ...] | None = None


@dataclass(frozen=True, slots=True)
class Outcome:
    """What has become of a test: it passed, failed by its `differences`, or could not be run (`error`).

    `notes` are what else there is to say, such as facts that came too late; `fired` the rules that derived something, as
    text.
    """

    test: RuleTest
    told: Told
    differences: tuple[Difference, ...] = ()
    error: str = ""
    notes: tuple[str, ...] = ()
    fired: frozenset[str] = frozenset()
    seconds: float = 0.0

    @property
    def passed(self) -> bool:
        """Whether all is as expected."""
        return not self.error and not self.differences


@dataclass
class _Run:
    """What one session has given."""

    accepted: list[Record] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    hypothetical: list[HypotheticalAnswer] = field(default_factory=list)
    violations: list[Violation] = field(default_factory=list)
    refused: list[Rejected] = field(default_factory=list)
    unused: dict[str, int] = field(default_factory=dict)
    fired: frozenset[str] = frozenset()


class SuiteRunner:
    """Runs the tests of one file. Raises ProgramError where the program is wrong, SpecError where it cannot be read."""

    def __init__(self, suite: TestSuite) -> None:
        self.suite = suite
        self.plan = self._compile(outputs=True)

    @cached_property
    def _with_states(self) -> Plan:
        """The plan that tells the states of alarms, too, for tests that expect some."""
        return compile_states_path(self.suite.program)

    def _plan_of(self, test: RuleTest) -> Plan:
        """The plan, or, where a test names the state of an alarm, the one that tells it."""
        states = [alarm.state for alarm in self.plan.alarms if alarm.state not in self.plan.outputs]
        named = " ".join([*_expected_lines(test), *(test.only or ())])
        return self._with_states if any(_mentions(named, state) for state in states) else self.plan

    def _outputs_of(self, test: RuleTest, plan: Plan) -> Collection[str]:
        """The outputs that a test is compared with: those of the program, and the states that it names."""
        if test.only is not None:
            return test.only
        named = " ".join(_expected_lines(test))
        return [name for name in plan.outputs if name in self.plan.outputs or _mentions(named, name)]

    @cached_property
    def _asked(self) -> Plan:
        """The plan as `tidelog ask` has it: nothing is derived but what the questions need."""
        return self._compile(outputs=False)

    def _compile(self, *, outputs: bool) -> Plan:
        try:
            return compile_path(self.suite.program, outputs=outputs)
        except OSError as error:
            reason = os.strerror(error.errno or 0)
            raise SpecError(f"{self.suite.path}: cannot read the program `{self.suite.program}`: {reason}") from error

    def run(self, test: RuleTest) -> Outcome:
        """Run one test; what goes wrong is its error."""
        begin = time.perf_counter()
        try:
            outcome = self._run(test)
        except (TidelogError, TypeError) as error:
            place = "" if isinstance(error, DataError) and error.place else f"{self.suite.path}:{test.line}: "
            outcome = Outcome(test, Told(), error=f"{place}{error}")
        return replace(outcome, seconds=time.perf_counter() - begin)

    def _check(self, test: RuleTest, plan: Plan) -> None:
        """DataError, at its place, for a value that the program has no use for."""
        times = TimeReader(plan.timeline)
        with self._at(test, "start"):
            if test.start is not None:
                times.point(test.start)
        with self._at(test, "lateness"):
            times.duration(test.lateness)
        with self._at(test, "only"):
            for name in test.only or ():
                if name not in plan.outputs:
                    raise DataError(f"`{name}` is no output of the program{suggest(name, plan.outputs)}")
        with self._at(test, "asks"):
            if test.asks is not None and not self._asked.questions:
                raise DataError("the program asks nothing: `asks` needs a query in it, such as `ask alarm(X)@T.`")

    @contextmanager
    def _at(self, test: RuleTest, key: str) -> Iterator[None]:
        """Give what is wrong with the value of a key its place."""
        try:
            yield
        except (DataError, TypeError) as error:
            if isinstance(error, DataError) and error.place:
                raise
            reason = error.reason if isinstance(error, DataError) else str(error)
            raise DataError(reason, f"{self.suite.path}:{test.places.get(key, test.line)}") from error

    def _run(self, test: RuleTest) -> Outcome:
        plan = self._plan_of(test)
        self._check(test, plan)
        wants_facts = test.expect is not None or test.expects_nothing
        run = self._session(plan, test, test.emit)
        final = run if test.emit == "final" or not test.at else self._session(plan, test, "final")
        asked = self._session(self._asked, test, test.emit) if test.asks is not None else None
        outputs = self._outputs_of(test, plan)
        expectations = Expectations(plan.schema, outputs, self.suite.path, is_part=test.only is not None)
        encoder = TextEncoder(plan.schema, iso=_has_dates(test.expect or test.facts))
        told = [record for record in run.records if record[0] in outputs]
        records = [*(coalesced(told) if test.emit == "intervals" else told), *_violated(run.violations)]
        differences: list[Difference | None] = []
        if wants_facts or run.violations:
            expected = [] if test.expect is None else expectations.told(test.expect, test.emit)
            differences.append(compare("expect", expected, records, encoder))
        at: dict[str, tuple[str, ...]] = {}
        for when, lines in test.at.items():
            with self._at(test, f"at {when}"):
                point = self._point(when)
            holding = [
                (name, row, point, point) for name, row, lo, hi in final.records if lo <= point <= hi and name in outputs
            ]
            differences.append(compare(f"at {when}", expectations.at(lines, point), holding, encoder))
            at[when] = tuple(sorted(line_of(record, encoder).rpartition("@")[0] for record in holding))
        asks = None
        if asked is not None and test.asks is not None:
            asks = self._ask_lines(asked.hypothetical, test.asks)
            differences.append(compare_texts("asks", expectations.asks(test.asks), asks))
        expect = tuple(line_of(record, encoder) for record in records) if wants_facts else None
        notes = tuple(_notes(run if asked is None or wants_facts else asked, plan))
        found = tuple(with_reasons(item, plan, run.accepted) for item in differences if item is not None)
        return Outcome(test, Told(expect, at, asks), found, "", notes, run.fired)

    def _session(self, plan: Plan, test: RuleTest, emit: EmitMode) -> _Run:
        """Hand in the facts of a test, one by one."""
        session = Session(plan, emit=emit, lateness=test.lateness, start=test.start, sources=(_SOURCE,), min_evidence=1)
        reader = FactReader(plan.schema, self.suite.path)
        run = _Run()
        for batch in _batches(reader, test.facts):
            for rejected in batch.rejected:
                raise DataError(rejected.reason, rejected.place)
            refused = session.take(_SOURCE, batch)
            run.refused += refused
            run.accepted += [] if refused else batch.records
            self._pull(session, run)
        run.refused += session.end(_SOURCE)
        self._pull(session, run)
        run.unused = session.intake.statistics().unused_names
        run.fired = fired_rules(plan, session.statistics().steps)
        return run

    def _pull(self, session: Session, run: _Run) -> None:
        run.records += session.pull_records()
        run.hypothetical += session.pull_hypothetical()
        run.violations += session.pull_violations()

    def _point(self, when: str) -> int:
        """A time of `at`, encoded."""
        try:
            return TimeReader(self.plan.timeline).point(when)
        except DataError as error:
            raise DataError(f"`at` is told for single times: {error.reason}") from error

    def _ask_lines(self, answers: Sequence[HypotheticalAnswer], expected: Lines) -> tuple[str, ...]:
        encoder = JsonEncoder(self._asked.schema, iso=_has_dates(expected))
        return tuple(encoder.encode(answers).decode().splitlines())


def _batches(reader: FactReader, lines: Lines) -> Iterator[Batch]:
    """Each line by itself: so what is told does not depend on how facts arrive together."""
    for index, line in enumerate(lines.lines):
        yield reader.read(line, lines.line(index))


def _violated(violations: Iterable[Violation]) -> list[Record]:
    """Violated constraints as facts, at the time at which each begins."""
    return [(VIOLATED, (), violation.lo, violation.lo) for violation in violations]


def _notes(run: _Run, plan: Plan) -> Iterator[str]:
    """What else there is to say of a run."""
    yield from (f"{item.place}: {item.reason}: {item.raw.decode(errors='replace')}" for item in run.refused)
    yield from map(str, run.violations)
    readable = [known.name for known in plan.schema.predicates.values() if known.accepts_input]
    for name in run.unused:
        near = "" if name in plan.schema.predicates else suggest(name, readable)
        yield f"the program does not use facts of `{name}`{near}"


def _expected_lines(test: RuleTest) -> Iterator[str]:
    """The lines that a test expects."""
    for lines in (test.expect, *test.at.values()):
        yield from lines.lines if lines is not None else ()


def _mentions(text: str, name: str) -> bool:
    return re.search(rf"(?<!\w){re.escape(name)}(?!\w)", text) is not None


def _has_dates(lines: Lines) -> bool:
    """Whether times are written as dates: then what was told is shown so, too."""
    return any(_DATE.search(line) for line in lines.lines)
