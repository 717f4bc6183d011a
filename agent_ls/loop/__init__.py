"""The agent loop: one conversation with its turns, its events, and the session that runs it."""
