"""The OpenAI family: edits by v4a patches, commands of ten seconds (000 section 3.4)."""
