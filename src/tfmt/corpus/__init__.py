"""A corpus from a translator's files to numbers on disk. Knows neither the model nor its training."""
