"""Environments: the interface to the machine and folder where tools act, and its implementations."""
