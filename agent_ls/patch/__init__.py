"""Text in, text out: parse, apply, compare. Never opens a file."""
