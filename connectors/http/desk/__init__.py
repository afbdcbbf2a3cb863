"""The desk over HTTP: open alarms, what people do with them, and what became of them before."""
