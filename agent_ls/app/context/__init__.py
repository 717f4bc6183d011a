"""Input of the model besides the conversation: prompts, project documents, editor state, mentions."""
