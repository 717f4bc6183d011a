"""Write a session's transcript and statistics as Markdown, HTML, JSON or text."""
