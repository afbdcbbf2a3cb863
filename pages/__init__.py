"""What the site of the documents is built with: code blocks, recipes, the command reference, the playground."""
