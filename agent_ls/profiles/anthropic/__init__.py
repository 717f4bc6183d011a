"""The Anthropic family: edits by exact replacement, commands of up to two minutes by default."""
