"""Profiles: the tools, the prompt and the limits for one model family."""
