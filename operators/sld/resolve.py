"""SLD-resolution with future premises (Cruz-Filipe, Gaspar and Nunes 2020, section 4), depth first and without recursion.

A literal of an input is left for later as a premise; all others are resolved with rules and with the program's facts. What
ends so is a computed answer with premises over the empty history (Definition 4).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from tidelog.operators.sld.comparisons.comparing import settle
from tidelog.operators.sld.comparisons.terms import Bindings, Mark, shift
from tidelog.operators.sld.goals.covers import Cover, chains, covers_of, linked
from tidelog.operators.sld.goals.formulas import NEVER, each, solve
from tidelog.operators.sld.goals.formulas import call as call_of
from tidelog.operators.sld.goals.negation import deny
from tidelog.operators.sld.goals.repeats import Repeats
from tidelog.operators.sld.goals.rulebook import Clause, Rulebook, is_unbounded
from tidelog.operators.sld.goals.tasks import (
    Ancestor,
    Call,
    Deny,
    Equal,
    Goal,
    Lack,
    Scope,
    Solve,
    Step,
    Task,
    Tasks,
    Test,
    Throughout,
    put,
)
from tidelog.operators.sld.goals.writing import relate
from tidelog.operators.sld.leaves.leaves import Absence, Leaf, close
from tidelog.operators.sld.limits import Budget, is_long
from tidelog.plans.data.timeline import NEG, POS
from tidelog.plans.diagnostics.errors import NOWHERE, Diagnostic, ProgramError, Span
from tidelog.plans.plan.preconditions import Argument, Premise, Slot, outside
from tidelog.plans.tree.syntax import Atom, Comparison, Constant, Variable

MAX_NESTING = 1_000
"""How often a recursion is unfolded within itself where no depth is given."""


@dataclass(slots=True)
class _Choice:
    """Where a derivation can go on in another way: the ways left, the goal behind them, and the state to go back to."""

    ways: Iterator[Tasks]
    goal: Goal
    mark: Mark
    premises: int
    absences: int
    comparisons: int
    resolved: int
    span: Span


@dataclass(slots=True)
class Resolver:
    """The derivations of one query."""

    rulebook: Rulebook
    budget: Budget
    depth: int | None = None
    is_cut: bool = False
    asked: dict[str, int] = field(default_factory=dict)
    """The auxiliary queries that negations need: their predicates, and how many arguments each takes."""
    bindings: Bindings = field(default_factory=Bindings)
    _premises: list[Premise] = field(default_factory=list)
    _absences: list[Absence] = field(default_factory=list)
    _comparisons: list[Comparison] = field(default_factory=list)
    _choices: list[_Choice] = field(default_factory=list)
    _repeats: Repeats = field(default_factory=Repeats)
    _resolved_calls: dict[Call, None] = field(default_factory=dict)
    """What has been called for on this branch: where it is called for again, the same derivation serves both."""
    _span: Span = NOWHERE

    def leaves(self, goal: Call, answer: tuple[Argument, ...]) -> Iterator[Leaf]:
        """The computed answers with premises, one by one; ProgramError if what is asked has infinitely many."""
        todo: Goal = (goal, None)
        while True:
            while todo is not None:
                task, rest = todo
                self.budget.take_step()
                step = self._step(task, rest, answer)
                if not isinstance(step, tuple):
                    self._choose(step, rest)
                    break
                todo = put(step, rest)
            else:
                leaf = self._leaf(answer)
                if leaf is not None:
                    yield leaf
            if (following := self._next()) is None:
                return
            todo = following[0]

    # --- choices --------------------------------------------------------------------------------------------------------

    def _choose(self, ways: Iterator[Tasks], rest: Goal) -> None:
        if ways is NEVER:
            return
        sizes = len(self._premises), len(self._absences), len(self._comparisons), len(self._resolved_calls)
        self._choices.append(_Choice(ways, rest, self.bindings.mark(), *sizes, self._span))

    def _next(self) -> tuple[Goal] | None:
        """The goal of the next alternative, with the state put back to where it branched off; None if there is none."""
        while self._choices:
            choice = self._choices[-1]
            self.bindings.undo(choice.mark)
            del self._premises[choice.premises :], self._absences[choice.absences :]
            del self._comparisons[choice.comparisons :]
            while len(self._resolved_calls) > choice.resolved:
                self._resolved_calls.popitem()
            self._span = choice.span
            tasks = next(choice.ways, None)
            if tasks is not None:
                return (put(tasks, choice.goal),)
            self._choices.pop()
        return None

    def _leaf(self, answer: tuple[Argument, ...]) -> Leaf | None:
        mark = self.bindings.mark()
        leaf = close(self.bindings, answer, self._premises, self._absences, self._comparisons, self._span)
        self.bindings.undo(mark)
        return leaf

    # --- single steps ---------------------------------------------------------------------------------------------------

    def _step(self, task: Task, rest: Goal, answer: tuple[Argument, ...]) -> Step:
        match task:
            case Solve():
                return solve(task, self.bindings)
            case Throughout():
                return self._throughout(task)
            case Call():
                return self._call(task, rest, answer)
            case Equal():
                return () if self.bindings.unify(task.left, task.right) else NEVER
            case Test():
                return self._test(task.comparison)
            case Deny():
                return deny(task, self.rulebook)
            case Lack():
                return self._lack(task)

    def _throughout(self, task: Throughout) -> Step:
        """A formula at many times: by an interval of a calendar, by chains of what holds for long, or at each of them."""
        if isinstance(task.formula, Atom) and self.rulebook.lasts(task.formula):
            predicate, arguments, first, *_ = call_of(task.formula, task.scope, task.first)
            return self._lasting(predicate, arguments, first, task.width)
        if not task.width or task.scope.is_listed or task.scope.above is not None:
            return each(task)
        covers = covers_of(task.formula, self.rulebook)
        found = None if covers is None else chains(covers, task.width + 1)
        return each(task) if found is None else (self._chained(chain, task) for chain in found)

    def _chained(self, chain: Sequence[Cover], task: Throughout) -> Tasks:
        times = [self.bindings.new("T", is_time=True) for _ in chain]
        tasks: list[Task] = [*linked(chain, times, task.first, shift(task.first, task.width))]
        for cover, time in zip(chain, times, strict=True):
            scope = task.scope
            for atom, clause in cover.steps:
                goal = call_of(atom, scope, time)
                scope, heads = self._used(clause, goal, None)
                tasks += heads
            tasks += [Solve(part, scope, time) for part in cover.body]
        return tuple(tasks)

    def _test(self, comparison: Comparison) -> Step:
        result = settle(comparison, self.bindings)
        if result == "open":
            self._comparisons.append(comparison)
        return NEVER if result == "fails" else ()

    def _lack(self, task: Lack) -> Step:
        """An absence is decided by the facts that are known, where the program gives all of them; otherwise it is a negated
        premise."""
        predicate, arguments = task.predicate, tuple(map(self.bindings.walk, task.arguments))
        if self.rulebook.is_calendar(predicate):
            return self._lasting(outside(predicate), arguments, task.time, task.width)
        if self.rulebook.is_given(predicate):
            row = tuple(term for term in arguments if not isinstance(term, Slot))
            table = self.rulebook.tables.get(predicate)
            settled = table.settles(row) if table is not None and len(row) == len(arguments) else None
            if table is None or settled is not None:
                return NEVER if settled else ()
        if not self.rulebook.is_stream(predicate):
            self.asked.setdefault(predicate, len(arguments))
        self._absences.append(Absence(Premise(predicate, arguments, _moment(task.time), task.width), task.span))
        return ()

    def _call(self, task: Call, rest: Goal, answer: tuple[Argument, ...]) -> Step:
        predicate = task.predicate
        if self.rulebook.is_stream(predicate):
            self._premises.append(Premise(predicate, task.arguments, _moment(task.time)))
            return ()
        walked = task._replace(arguments=tuple(map(self.bindings.walk, task.arguments)), time=self.bindings.walk(task.time))
        if self.rulebook.is_calendar(predicate):
            return self._lasting(predicate, walked.arguments, walked.time, 0)
        if predicate not in self.rulebook.clauses:
            return self._given(walked)
        above = task.above
        if self.rulebook.is_recursive(predicate):
            if self._is_pruned(walked) or self._is_repeated(walked, rest, answer):
                return NEVER
            above = self._descended(walked)
        bare = walked._replace(above=None)
        if bare in self._resolved_calls:
            return ()
        self._resolved_calls[bare] = None
        return self._resolved(walked, above)

    def _lasting(self, predicate: str, arguments: tuple[Argument, ...], first: Argument, width: int) -> Tasks:
        """A calendar from a time on, for so many time points: an interval of it that begins before and ends behind."""
        begin, end = self._named(predicate, arguments) or self._interval(predicate, arguments)
        return relate(begin, "<=", first), relate(end, ">=", shift(first, width))

    def _interval(self, predicate: str, arguments: tuple[Argument, ...]) -> tuple[Argument, Argument]:
        begin, end = (self.bindings.new("_", is_time=True) for _ in range(2))
        self._premises.append(Premise(predicate, (*arguments, end), begin, is_given=True))
        return begin, end

    def _named(self, predicate: str, arguments: tuple[Argument, ...]) -> tuple[Argument, Argument] | None:
        """The interval of this name that is asked for already, where there is no other one of that name."""
        if not self.rulebook.names_each(predicate):
            return None
        for premise in (premise for premise in self._premises if premise.predicate == predicate):
            *own, end = premise.arguments
            if tuple(map(self.bindings.walk, own)) == arguments:
                return premise.time, end
        return None

    def _is_repeated(self, call: Call, rest: Goal, answer: tuple[Argument, ...]) -> bool:
        """Whether this was met before; where recursion is cut at a depth, another depth is another state."""
        if self.depth is not None:
            return False
        absences = (absence.premise for absence in self._absences)
        collected = self._premises, absences, self._comparisons
        return not self._repeats.is_new(call, rest, answer, collected, self.bindings)

    def _is_pruned(self, call: Call) -> bool:
        """Whether a call is on the way to itself, so that it leads nowhere new, or lies too deep."""
        nested, above = 0, call.above
        while above is not None:
            if above.predicate == call.predicate:
                if self._is_same(above, call):
                    return True
                nested += 1
            above = above.above
        is_cut = self.depth is not None and nested > self.depth
        self.is_cut = self.is_cut or is_cut
        return is_cut

    def _descended(self, call: Call) -> Ancestor:
        depth = call.above.depth + 1 if call.above is not None else 1
        if self.depth is None and depth > MAX_NESTING:
            raise _too_deep(call.predicate, self._span)
        return Ancestor(call.predicate, call.arguments, call.time, call.above, depth)

    def _is_same(self, above: Ancestor, call: Call) -> bool:
        walk = self.bindings.walk
        return walk(above.time) == call.time and all(
            walk(left) == right for left, right in zip(above.arguments, call.arguments, strict=True)
        )

    # --- what derives an atom -------------------------------------------------------------------------------------------

    def _resolved(self, call: Call, above: Ancestor | None) -> Iterator[Tasks]:
        yield from self._given(call)
        for clause in self.rulebook.clauses.get(call.predicate, ()):
            if _can_match(clause, call.arguments):
                self._span = clause.span if len(self._choices) == 1 else self._span
                yield from self._applied(clause, call, above)

    def _applied(self, clause: Clause, call: Call, above: Ancestor | None) -> Iterator[Tasks]:
        """The ways in which one rule derives an atom: one for each distance that its head's boxes bridge."""
        endless = is_unbounded(clause.low) or is_unbounded(clause.high) or self._is_open(clause, call, above)
        distances = (0,) if endless or clause.atom.at is not None else range(int(clause.low), int(clause.high) + 1)
        for distance in distances:
            scope, heads = self._used(clause, call, above)
            moment, timing = self._moment(clause, call, scope.variables, distance, endless)
            yield *heads, *timing, *(Solve(part, scope, moment) for part in clause.body)

    def _used(self, clause: Clause, call: Call, above: Ancestor | None) -> tuple[Scope, Tasks]:
        """A rule with variables of its own, and what makes its head the atom that is called for, but for its time."""
        variables = {name: self.bindings.new(name, name in clause.times) for name in clause.variables}
        heads = tuple(
            Equal(call.arguments[i], variables[term.name] if isinstance(term, Variable) else term.value)
            for i, term in enumerate(clause.atom.arguments)
            if isinstance(term, Variable | Constant)
        )
        return Scope(clause, variables, above, call.is_listed), heads

    def _is_open(self, clause: Clause, call: Call, above: Ancestor | None) -> bool:
        """Whether a rule's time is a variable of its own, as its head bridges many distances."""
        return above is None and not call.is_listed and clause.atom.at is None and is_long(clause.low, clause.high)

    def _moment(
        self, clause: Clause, call: Call, variables: dict[str, Slot], distance: int, endless: bool
    ) -> tuple[Argument, Tasks]:
        """The rule's own time, and what ties it to the time of the atom that it derives."""
        if clause.atom.at is not None:
            own = shift(variables[clause.atom.at.variable.name], clause.atom.at.shift)
            return self.bindings.new("T", is_time=True), (Equal(call.time, own),)
        if not endless:
            return shift(call.time, -distance), ()
        now = self.bindings.new("T", is_time=True)
        timing: list[Task] = []
        if not is_unbounded(clause.low):
            timing.append(relate(now, "<=", shift(call.time, -int(clause.low))))
        if not is_unbounded(clause.high):
            timing.append(relate(now, ">=", shift(call.time, -int(clause.high))))
        return now, tuple(timing)

    def _given(self, call: Call) -> Iterator[Tasks]:
        """The input itself, where the stream may bring it, and the facts that are known from the start."""
        if call.predicate in self.rulebook.inputs:
            yield from self._streamed(call)
        table = self.rulebook.tables.get(call.predicate)
        if table is None:
            return
        for row, lo, hi in table.matching(call.arguments):
            self.budget.take_step()
            equal = tuple(Equal(term, value) for term, value in zip(call.arguments, row, strict=True))
            if lo == hi:
                yield *equal, Equal(call.time, lo)
                continue
            begin = (relate(call.time, ">=", lo),) if lo != NEG else ()
            end = (relate(call.time, "<=", hi),) if hi != POS else ()
            yield *equal, *begin, *end

    def _streamed(self, call: Call) -> Iterator[Tasks]:
        self._premises.append(Premise(call.predicate, call.arguments, _moment(call.time)))
        yield ()


def _moment(time: Argument) -> Slot | int:
    """A time of a literal; what is none is found out when the derivation ends."""
    return time  # type: ignore[return-value] # `close` lets no other leaf through


def _can_match(clause: Clause, arguments: tuple[Argument, ...]) -> bool:
    """Whether no two constants of the head and the goal differ: most rules need not be tried any further."""
    for term, argument in zip(clause.atom.arguments, arguments, strict=True):
        if isinstance(term, Constant) and not isinstance(argument, Slot) and term.value != argument:
            return False
    return True


def _too_deep(predicate: str, span: Span) -> ProgramError:
    message = f"the recursion of `{predicate}` goes deeper than {MAX_NESTING:,} rules"
    help = "bound it in the rules, or say how deep to look with `--depth`"
    return ProgramError([Diagnostic("endless-ask", message, span, help=help)])
