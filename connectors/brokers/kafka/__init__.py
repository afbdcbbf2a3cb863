"""Kafka: records to facts, from offsets that stand in the gateway's own state, and answers to records."""
