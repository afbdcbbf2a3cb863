"""Sessions and engines: the same answers by every way of running, and what happens when something goes wrong."""
