"""The Anthropic family: edits by exact replacement, and commands of up to two minutes by default."""
