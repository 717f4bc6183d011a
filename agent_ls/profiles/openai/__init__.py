"""The OpenAI family: edits by v4a patches, commands of up to ten seconds by default."""
