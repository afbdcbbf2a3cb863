"""Arrow tables and Parquet: into sessions and batch reasoning, and out of them."""
