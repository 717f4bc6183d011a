"""The front end for editors without a plugin (H8): a chat as a document, commands, code actions, prompts, progress."""
