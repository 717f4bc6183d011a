"""Confines a thread and its descendants by Landlock and seccomp. Uses the standard library only, as the relay does."""
