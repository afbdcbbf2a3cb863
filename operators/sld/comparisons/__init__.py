"""Terms and comparisons: unification, bounds, and whether comparisons can hold together."""
