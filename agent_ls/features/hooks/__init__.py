"""Hooks: programs of the user that run at events of a session and can block a tool call or a user's message."""
