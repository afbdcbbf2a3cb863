"""Hot standby: who leads (a lease on shared storage), what the leader has committed, and who follows it."""
