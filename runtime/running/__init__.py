"""A run: sources and sinks as actors around a session, with or without a state; what `Engine` is built on."""
