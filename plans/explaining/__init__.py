"""What is shown of a program and its plan: as text, JSON or Mermaid, in reports and in pictures."""
