"""A state is cut into those of islands, divided among shards, and put together again."""
