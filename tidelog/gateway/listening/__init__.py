"""What passes in a running gateway, for those who listen in, for the page and for the metrics."""
