"""What tables cost as they grow."""
