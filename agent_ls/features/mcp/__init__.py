"""MCP servers of a session: their configuration, their approval, and when the model gets their tools."""
