"""The content of a request to the model: history, prompt prefix, size, and compaction."""
