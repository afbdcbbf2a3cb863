"""The commands that stream facts: `run` and `ask`, and what they share."""
