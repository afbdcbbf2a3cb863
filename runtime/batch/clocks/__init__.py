"""What batch reasoning knows of the clock: calendars, clipped windows, and the first and last time that facts mention."""
