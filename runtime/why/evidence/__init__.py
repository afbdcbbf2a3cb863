"""When formulas hold, and what that rests on, by the definitions."""
