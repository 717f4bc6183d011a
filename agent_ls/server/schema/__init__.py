"""The JSON schema of all messages and events, made from their types."""
