"""Checks of what declares more than a name: alarms and calendars."""
