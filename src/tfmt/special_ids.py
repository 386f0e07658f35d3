"""Ids every vocabulary starts with, whatever the tokenizer's other pieces."""

PAD = 0  # fills a rectangle; never a token of a sentence
BOS = 1  # what the decoder reads first
EOS = 2  # ends the source as the encoder reads it, and every target
UNK = 3  # never made by our tokenizers (bytes stand in); never emitted
