"""Analysis of command lines: the effects of a line, as far as they can be determined from its text."""
