"""Ownership of sessions: follow, hand over and take over sessions of other processes."""
