"""A naive evaluator written from the papers' definitions, and random programs to compare the engine with it."""
