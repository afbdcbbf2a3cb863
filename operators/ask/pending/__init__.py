"""Answers on their way: what they wait for, and when they are decided."""
