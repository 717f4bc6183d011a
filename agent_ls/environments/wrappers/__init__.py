"""Wrappers around an environment: each refuses or records operations and passes on the rest."""
