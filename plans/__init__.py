"""What is to be computed: text, syntax tree, normal form, analyses and the inert plan."""
