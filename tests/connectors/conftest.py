"""Schemas that the connectors' tests share."""

from __future__ import annotations

from fractions import Fraction

import pytest

from tidelog.plans.data.facts import PredicateSchema, Schema
from tidelog.plans.data.timeline import Timeline

PREDICATES = {
    "temp": PredicateSchema("temp", 2, ("sensor", "value"), ("text", "number")),
    "p": PredicateSchema("p", 1),
    "q": PredicateSchema("q", 2),
    "rain": PredicateSchema("rain", 0),
    "derived": PredicateSchema("derived", 1, accepts_input=False),
}


@pytest.fixture
def integer() -> Schema:
    """A schema over whole numbers that count no unit."""
    return Schema(Timeline("integer"), PREDICATES)


@pytest.fixture
def seconds() -> Schema:
    """A schema over whole seconds."""
    return Schema(Timeline("integer", unit=Fraction(1)), PREDICATES)


@pytest.fixture
def halves() -> Schema:
    """A schema over rationals with the resolution 1/2: the time x is the point 4·x."""
    return Schema(Timeline("rational", Fraction(1, 2)), PREDICATES)
