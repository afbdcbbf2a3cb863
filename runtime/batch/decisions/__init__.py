"""Entailment and consistency: decided by materialisation, automata or LTL."""
