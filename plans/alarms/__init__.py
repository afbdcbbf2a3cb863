"""Alarms as people see them: which are open, in what state, and who did what."""
