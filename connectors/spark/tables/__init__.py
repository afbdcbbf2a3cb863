"""Tables of Parquet, versioned by manifests."""
