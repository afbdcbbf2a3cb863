"""What editors are told of programs (`tidelog lsp`): diagnostics, names, definitions, completion, formatting."""
