"""The Anthropic family: edits by exact replacement, commands of two minutes (000 section 3.5)."""
