"""The commands for what a run has stored."""
