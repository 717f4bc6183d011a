"""Models: list the available models, choose the model of a session, and store API keys."""
