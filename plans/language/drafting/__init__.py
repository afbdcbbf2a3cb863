"""From what the parser holds of a statement to its parts: alarms, calendars, aggregates and held values."""
