"""How far rules look through time: delay, retention, extent, and the bounds on memory that follow."""
