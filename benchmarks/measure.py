"""Measuring: CPU time by turns, and the median over the turns."""

from __future__ import annotations

import gc
import time
from collections.abc import Callable, Sequence
from statistics import median

from tidelog.plans.data.facts import Record
from tidelog.runtime.sessions.session import Session

Run = Callable[[], object]
Job = Callable[[], Run]
"""Prepares a run, which is not measured, and returns it, to be measured."""


def cpu_seconds(job: Job) -> float:
    """The CPU time of the process over one run of a job, which does not pay for the garbage of those before it."""
    run = job()
    gc.collect()
    begin = time.process_time()
    run()
    return time.process_time() - begin


def cpu_by_turns(jobs: Sequence[Job], repeats: int) -> list[float]:
    """The median CPU time of each job, all of them run once in each of the repeats, after one run that does not count."""
    for job in jobs:
        job()()
    turns = [[cpu_seconds(job) for job in jobs] for _ in range(repeats)]
    return [median(times) for times in zip(*turns, strict=True)]


def push_all(session: Session, batches: Sequence[Sequence[Record]]) -> int:
    """Push facts batch by batch, pull the answers after each, and return how many there were."""
    answers = 0
    for batch in batches:
        session.push_records(batch)
        answers += len(session.pull_records())
    return answers
