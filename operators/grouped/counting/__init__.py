"""What aggregates are made of: for each group a window, and in it a tally that knows the function's value at any time."""
