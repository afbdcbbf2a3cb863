"""A gateway's file: its settings, and what is said of mistakes in it."""
