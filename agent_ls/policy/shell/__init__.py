"""Analysis of command lines: the effects of a line, as far as its syntax shows them."""
