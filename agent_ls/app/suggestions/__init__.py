"""Short texts that a model writes on request, without a session: text at the cursor, commit messages."""
