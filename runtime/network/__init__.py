"""The plan at work: operators deployed, connected and run to completion."""
