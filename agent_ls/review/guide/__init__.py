"""Guided review: what to look at first, and what deserves a second look. Pure."""
