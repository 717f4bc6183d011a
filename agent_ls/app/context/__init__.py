"""Input of the model in addition to the conversation: prompts, project documents, editor state, mentions."""
