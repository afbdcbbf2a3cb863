"""InfluxDB's line protocol: points to facts, answers to points, and who sends and takes them."""
