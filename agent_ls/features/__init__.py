"""Features that a session can have besides the agent loop. Features do not know sessions."""
