"""tfmt: from a translator's own files to a measured, usable translation model."""

__version__ = "0.1.0"
