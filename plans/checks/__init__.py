"""Checks of a parsed program, one a file: each gives the diagnostics of one kind of mistake."""

from tidelog.plans.checks.check import check, require

__all__ = ["check", "require"]
