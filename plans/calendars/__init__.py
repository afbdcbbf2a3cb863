"""Calendars: wall-clock time in the zones of the IANA database, and the intervals that a declared calendar holds in."""
