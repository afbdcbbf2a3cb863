"""Which predicates depend on each other: components, strata, loops and rounds."""
