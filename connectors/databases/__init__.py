"""Databases: SQL, and points in InfluxDB's line protocol."""
