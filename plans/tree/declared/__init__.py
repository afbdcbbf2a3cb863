"""What declarations of alarms, causes, storms and machines stand for: rules made of them."""
