"""The OpenAI model family: edits by v4a patches, and a command timeout of ten seconds by default."""
