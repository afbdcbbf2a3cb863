"""What the runtime asks of its ends: sources, sinks, and what stores a durable run."""
