"""A small hand-written grammar that says each thing once in Chinese and once in English."""
