"""What a program costs by what it is made of: its operators, windows, aggregates, questions, number of rules, memory."""
