"""One way to write a program: `tidelog fmt`, and the language server's formatting."""
