"""The Transformer: one kind of block, stacked. Tensors in, tensors out; nothing here knows of text or files."""
