"""What is proved of numbers: systems of linear comparisons, arithmetic as the engine rounds it, thresholds of readings."""
