"""What is shown of programs, plans and facts: timelines, graphs and tables for people, made with `plans/pictures/`."""
