"""Where facts enter: admission, order, and watermarks."""
