"""One file an operator: list in, operator, list out; and each against its definition, point by point."""
