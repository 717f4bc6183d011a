"""Profiles. A profile contains the tools, the prompt and the limits for one model family."""
