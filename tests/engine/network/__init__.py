"""What is stored between operators, and whom a moment concerns: nobody can tell the difference, and memory has a bound."""
