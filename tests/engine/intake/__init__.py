"""What comes in: sources and their watermarks, the clock, silence, lateness, and the end."""
