"""Analyses of a normalised program: recursion, strata, delay, retention, granularity, memory bounds."""
