"""Tests of hypothetical answers."""
