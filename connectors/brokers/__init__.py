"""Message brokers: MQTT, Kafka."""
