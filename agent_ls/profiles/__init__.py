"""Profiles. A profile has the tools, the prompt and the limits for one model family."""
