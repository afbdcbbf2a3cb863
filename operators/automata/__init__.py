"""Büchi automata over windows of the timeline: whether a program and its facts have a model."""
