"""Translation: a search that asks a scorer, and the one Translator that everything else uses."""
