"""Model input other than the conversation: prompts, project documents, editor state, mentions."""
