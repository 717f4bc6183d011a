"""Environments: the interface to the machine and folder where tools act, and implementations of the interface."""
