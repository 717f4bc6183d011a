"""Models of servers with the Chat Completions API, on this machine or on others."""
