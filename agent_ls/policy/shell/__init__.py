"""Analysis of command lines: what a line would do, as far as its syntax shows."""
