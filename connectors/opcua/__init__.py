"""Alarms for SCADA, by OPC UA (Part 9, Alarms and Conditions). Nothing else loads asyncua, but for the source of nodes."""
