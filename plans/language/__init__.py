"""The language: from a program's text to its syntax tree, and from the tree to text."""
