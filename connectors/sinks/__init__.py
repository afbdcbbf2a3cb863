"""Sinks: where answers go, and what becomes of those that cannot be delivered."""
