"""How good translations are: scores of strings against strings, and the reports written of them."""
