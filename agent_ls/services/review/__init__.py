"""The review of a session's changes: hunks, proposals, decisions, and restoring them."""
