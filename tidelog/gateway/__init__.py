"""The gateway: one file that says what is listened to, which rules there are, and who is told (`tidelog gateway`)."""
