"""The tests of telemetry use the collector beside them."""
