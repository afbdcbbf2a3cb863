"""The inert plan: its steps, the shapes of their operators, and its questions."""
