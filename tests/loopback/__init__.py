"""A local server that answers like a model provider, by wire format. It checks requests as the real service does."""
