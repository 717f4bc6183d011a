"""MCP servers of a session: where they are configured, who approves them, and when they are offered to the model."""
