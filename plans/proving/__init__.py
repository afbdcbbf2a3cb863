"""What can be said of rules without data: cases in which a body holds, proofs of formulas in them, and what follows."""
