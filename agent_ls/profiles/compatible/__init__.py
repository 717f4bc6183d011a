"""Models behind Chat Completions, on this machine or elsewhere (REQUIREMENTS P5)."""
