"""MQTT 3.1.1 and 5: messages to facts, answers to messages. Nothing else loads paho-mqtt."""
