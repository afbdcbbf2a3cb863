"""Islands: a plan cut into parts that run side by side, each an actor in this process or in a worker."""
