"""Stages: a program in parts, each of which can be split by a key."""
