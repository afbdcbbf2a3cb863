"""What all commands have in common: exit codes, progress, names of outputs."""
