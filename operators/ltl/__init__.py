"""Linear temporal logic: a program and its facts as one propositional formula, and whether it is satisfiable."""
