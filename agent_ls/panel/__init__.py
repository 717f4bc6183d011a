"""The front end in a browser: `agent-ls panel` serves the chat page and connects it to running servers."""
