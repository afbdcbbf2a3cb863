"""What a durable run stores: events, the run's manifest, the delivery queue."""
