"""What is proposed, what was accepted, what went stale. Never opens a file."""
