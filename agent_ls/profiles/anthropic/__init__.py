"""The Anthropic model family: edits by exact replacement of text, and a command timeout of two minutes by default."""
