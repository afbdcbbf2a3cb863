"""Metric operators: ◇, □, since, until, and unions of coverage."""
