"""Tables of Apache Iceberg in a catalog, by the library `pyiceberg`: their files, and their snapshots."""
