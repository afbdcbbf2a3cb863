"""OPC UA: nodes of servers as a source, and a server of alarms for SCADA (Part 9). Nothing else loads asyncua."""
