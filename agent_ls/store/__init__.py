"""Storage of sessions on disk."""
