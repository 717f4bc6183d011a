"""Track which hunks of a file are proposed, pending, accepted or stale. Pure: never opens a file."""
