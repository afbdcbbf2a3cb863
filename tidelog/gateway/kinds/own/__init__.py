"""The kinds of sources and sinks that come with tidelog, a module for each wire: its settings, and what opens it."""
