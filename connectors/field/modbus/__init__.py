"""Registers of devices, by Modbus: over TCP, RTU over serial lines and over TCP. Only `device` loads pymodbus."""
