"""Devices of a plant and their protocols: Modbus, OPC UA, Sparkplug B."""
