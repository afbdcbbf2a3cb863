"""The key of a question: an argument that all rules behind it share, so that what comes for one key tells of no other."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from tidelog.plans.language.printing import format_statement
from tidelog.plans.plan.questions import Question
from tidelog.plans.stages.partition import Key, Link, common_keys
from tidelog.plans.tree.syntax import Aggregate, Atom, Latest, Rule, Variable, Window
from tidelog.plans.tree.traverse import subformulas
from tidelog.plans.tree.walk import atoms, head_atom


def question_key(question: Question, stated: Collection[str]) -> Key | None:
    """The key of a question: an argument that all its rules share and that each answer shows; None where it has none.

    `stated` are the predicates of which the program states facts: where streams bring or derive more of them, what holds for
    a key of which nothing comes would be told by nobody, so there is no key. Nor is there one for what is counted.
    """
    fed = _fed(question)
    rules = [rule for rule in question.rules if (head := head_atom(rule)) and head.predicate in fed]
    if any(_is_counted(rule) for rule in rules) or fed & {*stated}:
        return None
    links = [Link(question.name, tuple(_fed_atoms(rule, fed)), format_statement(rule)) for rule in rules]
    if any(len(link.atoms) < _HEAD_AND_BODY for link in links):
        return None
    own = Link(question.name, (question.query,), "")
    query, read = question.query, question.inputs
    for key in common_keys([*links, own])[0]:
        place = key.get(query.predicate)
        if place is not None and isinstance(query.arguments[place], Variable) and read <= key.keys():
            return key
    return None


_HEAD_AND_BODY = 2


def _fed(question: Question) -> set[str]:
    """The predicates that streams bring, and those derived from them."""
    found = {*question.inputs}
    before = 0
    while before < len(found):
        before = len(found)
        for rule in question.rules:
            head = head_atom(rule)
            if head is not None and any(atom.predicate in found for atom in atoms(*rule.body)):
                found.add(head.predicate)
    return found


def _fed_atoms(rule: Rule, fed: Collection[str]) -> Iterator[Atom]:
    """A rule's head, and those atoms of its body that streams feed."""
    head = head_atom(rule)
    if head is not None:
        yield head
    yield from (atom for atom in atoms(*rule.body) if atom.predicate in fed)


def _is_counted(rule: Rule) -> bool:
    """Whether facts with other keys may matter: what is counted or held, and windows over so many facts."""
    parts = [part for formula in rule.body for part in subformulas(formula)]
    counted = any(isinstance(part, Aggregate | Latest) for part in parts)
    return counted or any(isinstance(part, Window) and part.window.tuples for part in parts)
