"""Hooks: programs of the user that are told of what a session does, and may stop it."""
