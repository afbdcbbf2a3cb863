"""The syntax tree of a program: its nodes, their literals, and walks over them."""
