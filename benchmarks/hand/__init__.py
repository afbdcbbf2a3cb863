"""Programs, and the same written by hand in plain Python, as a careful engineer would: dicts, deques, a heap."""
