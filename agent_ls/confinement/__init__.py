"""Confines a thread and its descendants by Landlock and seccomp. Like the relay, this package uses only the
standard library.
"""
