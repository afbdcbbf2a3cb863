"""Spark itself: what it needs, how it is started, and what its workers get."""
