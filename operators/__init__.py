"""How one normalised rule is computed: one small class a file, all of one shape."""
