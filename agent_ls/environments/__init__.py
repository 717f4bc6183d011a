"""Environments: the interface to the place where tools act, and its implementations."""
