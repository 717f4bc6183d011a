"""How to speak to one model family: its tools, its prompt, its limits."""
