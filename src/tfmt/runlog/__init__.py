"""A run's events: the log that keeps them, and those who watch it, from a terminal to TensorBoard."""
