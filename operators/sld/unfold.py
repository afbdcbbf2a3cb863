"""Unfolding: from a question to all its preconditions, before any fact has come."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from tidelog.operators.sld.comparisons.terms import shift
from tidelog.operators.sld.goals.rounds import Rounds
from tidelog.operators.sld.goals.rulebook import Rulebook
from tidelog.operators.sld.goals.tasks import Call
from tidelog.operators.sld.leaves.anchors import anchored
from tidelog.operators.sld.leaves.leaves import Leaf, bound_variables, require_bound
from tidelog.operators.sld.leaves.minimal import minimise
from tidelog.operators.sld.leaves.naming import precondition_of
from tidelog.operators.sld.limits import Budget
from tidelog.operators.sld.resolve import Resolver
from tidelog.operators.sld.size import require_size
from tidelog.plans.asking.periods import by_periods, is_periodic
from tidelog.plans.asking.termination import check_termination
from tidelog.plans.data.facts import Record
from tidelog.plans.diagnostics.errors import Diagnostic, ProgramError, Span
from tidelog.plans.plan.preconditions import Argument, Slot, UnfoldedQuery, Unfolding
from tidelog.plans.plan.questions import Question
from tidelog.plans.tree.syntax import Constant, Expression, Variable


def unfold(question: Question, facts: Sequence[Record] = ()) -> Unfolding:
    """The preconditions of a question and of the auxiliary queries that its negations need, each minimal.

    `facts` are the program's own and its background's, their times encoded. ProgramError for a query that can hold
    without any input, that leaves a column open, that asks for infinitely many facts, or that unfolds into too much.

    >>> from tidelog.plans.language.parser import parse
    >>> from tidelog.plans.tree.syntax import Atom, TimePoint
    >>> rules = parse("flag(X) :- temp(X,high). cool(X)@T+1 :- flag(X)@T, flag(X)@T+1.").statements
    >>> query = Atom("cool", (Variable("X"),), TimePoint(Variable("T")))
    >>> unfolding = unfold(Question("cool", query, rules, frozenset(["temp"])))
    >>> for premise in unfolding.main.preconditions[0].premises:
    ...     print(premise.predicate, premise.arguments, premise.time)
    temp (Slot(variable=0, offset=0), 'high') Slot(variable=1, offset=-1)
    temp (Slot(variable=0, offset=0), 'high') Slot(variable=1, offset=0)
    """
    try:
        return _Unfolder(question, facts).unfold()
    except ProgramError as error:
        again = _by_periods(question, facts)
        if again is None or any(problem.code != "endless-ask" for problem in error.diagnostics):
            raise
        try:
            found = _Unfolder(again, facts).unfold()
        except ProgramError:
            raise error from None  # it is the rounds that have no end
        if not all(map(_is_solved, (found.main, *found.auxiliary.values()))):
            raise
        return found


def _by_periods(question: Question, facts: Sequence[Record]) -> Question | None:
    """The question, with recursion that comes again after a period as one rule; None where that makes no difference."""
    rules = by_periods(question.rules, {record[0] for record in facts})
    return None if question.depth is not None or rules == question.rules else replace(question, rules=rules)


def _is_solved(query: UnfoldedQuery) -> bool:
    """Whether no premises of a query have two periods to agree on: what times do so would be searched for by trying."""
    return all(sum(map(is_periodic, item.comparisons)) <= 1 for item in query.preconditions)


class _Unfolder:
    """The queries of one question: the asked one, then those that negations need, until none is new."""

    def __init__(self, question: Question, facts: Sequence[Record]) -> None:
        self._question = question
        self._rulebook = Rulebook(question, facts)
        self._budget = Budget(question.query.span)
        self._asked: dict[str, int] = {}
        self._is_cut = False

    def unfold(self) -> Unfolding:
        self._require_end()
        main = self._main()
        auxiliary: dict[str, UnfoldedQuery] = {}
        while new := {name: arity for name, arity in self._asked.items() if name not in auxiliary}:
            for name, arity in new.items():
                auxiliary[name] = self._auxiliary(name, arity)
        return Unfolding(main, auxiliary, self._is_cut)

    def _require_end(self) -> None:
        """ProgramError for a recursion without an end, unless its constants or the program's facts give it one."""
        problems = list(check_termination(self._question, self._rulebook.tables))
        if problems and not Rounds(self._rulebook).end(self._question.query):
            raise ProgramError(problems)

    def _main(self) -> UnfoldedQuery:
        query = self._question.query
        if query.at is None:
            help = "write `@T` after it, such as `ask alarm(X)@T`"
            raise ProgramError([Diagnostic("ask-without-time", "a query needs a time", query.span, help=help)])
        time_name = query.at.variable.name
        named = dict.fromkeys(term.name for term in query.arguments if isinstance(term, Variable))
        columns = (*(name for name in named if name != time_name), time_name)
        resolver = self._resolver()
        slots = {name: resolver.bindings.new(name, name == time_name) for name in columns}
        arguments = tuple(_argument(term, slots, resolver) for term in query.arguments)
        goal = Call(query.predicate, arguments, shift(slots[time_name], query.at.shift), None)
        leaves = self._leaves(resolver, goal, tuple(slots.values()))
        for leaf in leaves:
            self._require_answer(leaf, columns)
        return self._query(self._question.name, columns, leaves)

    def _auxiliary(self, name: str, arity: int) -> UnfoldedQuery:
        formula = self._rulebook.formulas.get(name)
        columns = self._columns(name, arity)
        resolver = self._resolver()
        slots = tuple(resolver.bindings.new(column, column == columns[-1]) for column in columns)
        leaves = self._leaves(resolver, Call(name, slots[:-1], slots[-1], None), slots)
        for leaf in leaves:
            require_bound(leaf, leaf.answer)
        query = self._query(name, columns, leaves)
        return query if formula is None else UnfoldedQuery(name, columns, query.preconditions, formula)

    def _columns(self, name: str, arity: int) -> tuple[str, ...]:
        """A name for each argument of a negated atom, and for its time: the rule's own names where the atom stands for a
        part of a rule."""
        if name in self._rulebook.formulas:
            own = self._rulebook.clauses[name][0].atom.arguments
            names = [term.name for term in own if isinstance(term, Variable)]
        else:
            names = [f"X{i}" for i in range(1, arity + 1)]
        return (*names, next(new for new in ("T", "Time", "Time_") if new not in names))

    def _resolver(self) -> Resolver:
        return Resolver(self._rulebook, self._budget, self._question.depth)

    def _leaves(self, resolver: Resolver, goal: Call, answer: tuple[Slot, ...]) -> list[Leaf]:
        require_size(goal, self._rulebook, self._budget)
        found: dict[Leaf, None] = {}
        for leaf in self._closed(resolver, goal, answer):
            if leaf not in found:
                self._budget.take(len(leaf.premises) + len(leaf.negated))
                found[leaf] = None
        for name, arity in resolver.asked.items():
            self._asked.setdefault(name, arity)
        self._is_cut = self._is_cut or resolver.is_cut
        return minimise(list(found), self._budget)

    def _closed(self, resolver: Resolver, goal: Call, answer: tuple[Slot, ...]) -> Iterator[Leaf]:
        for leaf in resolver.leaves(goal, answer):
            yield from anchored(leaf, self._budget)

    def _query(self, name: str, columns: tuple[str, ...], leaves: list[Leaf]) -> UnfoldedQuery:
        return UnfoldedQuery(name, columns, tuple(precondition_of(leaf, columns) for leaf in leaves))

    def _require_answer(self, leaf: Leaf, columns: tuple[str, ...]) -> None:
        """ProgramError unless the answer takes an input, and its columns are bound."""
        name = self._question.query.predicate
        if all(premise.is_given for premise in leaf.premises):
            message = f"`{name}` holds whatever comes" if not leaf.negated else f"`{name}` holds where nothing comes"
            help = "let the rule need an input fact: that is what an answer waits for"
            raise _refused("ask-always", f"{message}, so there is nothing to wait for", leaf.span, help)
        bound = bound_variables(leaf)
        for column, term in zip(columns, leaf.answer, strict=True):
            if isinstance(term, Slot) and term.variable not in bound:
                what = f"the time of `{name}`" if column == columns[-1] else f"`{column}` of `{name}`"
                help = "tie it to an input: write the times as `@T`, or a value such as `T = 0`"
                raise _refused("ask-unbounded", f"nothing bounds {what}", leaf.span, help)
        require_bound(leaf, ())


def _argument(term: Expression, slots: dict[str, Slot], resolver: Resolver) -> Argument:
    if isinstance(term, Constant):
        return term.value
    return slots[term.name] if isinstance(term, Variable) else resolver.bindings.new("_")


def _refused(code: str, message: str, span: Span, help: str) -> ProgramError:
    return ProgramError([Diagnostic(code, message, span, help=help)])
