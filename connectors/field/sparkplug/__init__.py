"""Sparkplug B: what edge nodes and their devices tell over MQTT. Nothing else loads protobuf."""
