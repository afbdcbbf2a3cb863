"""Runs of an engine: alone and with a state, as set up, stopped, restored, and with what fails."""
