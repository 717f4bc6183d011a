"""Environments around an environment: each refuses or records something and passes on the rest."""
