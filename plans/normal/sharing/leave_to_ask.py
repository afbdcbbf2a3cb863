"""Pass: rules that only `ask` needs go."""

from __future__ import annotations

from tidelog.plans.normal.program import NormalProgram
from tidelog.plans.normal.sharing.prune import prune


def leave_to_ask(program: NormalProgram) -> NormalProgram:
    """In a program that asks, keep the rules that the outputs and the constraints need; unfolding takes others as they are.

    >>> from tidelog.plans.normal.normalise import text_after
    >>> print(text_after("leave_to_ask", "timeline integer. output p. ask r@T. p :- q. r@T :- q@T, q@S."))
    timeline integer.
    output p.
    ask r@T.
    p :- q.
    """
    return prune(program) if program.asked else program
