"""From what devices send to facts, and from answers to what others are sent: what a gateway's file says of messages."""
