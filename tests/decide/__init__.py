"""Deciding by ground theories: grounding, automata, LTL."""
