"""What a durable run stores in a directory, in SQLite."""
