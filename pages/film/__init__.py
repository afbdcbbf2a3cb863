"""The moving picture of the gateway's page: a run of examples/coldstore in which a pump trips, seen in Chromium."""
