"""Models of servers that speak Chat Completions, on this machine or elsewhere."""
