"""Answers in the form that is asked for: when each is told, and how what goes on holding is told."""
