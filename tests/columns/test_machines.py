"""Machines and other recursion with `not` run row by row between steps in columns, and say the same."""

from __future__ import annotations

from hypothesis import given

from columns.driving import in_columns
from oracle.agreement import records_of, runs_of
from oracle.evaluate import GroundFact
from oracle.machine_programs import events, machine_programs
from tidelog import Session
from tidelog.plans.compiling.compile import compile_program
from tidelog.plans.language.parser import parse
