"""Commands on tables of Delta Lake: facts of outboxes go into them, and they are kept up."""
