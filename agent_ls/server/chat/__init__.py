"""The user interface for editors without a plugin: a chat as a document, commands, code actions, prompts,
progress.
"""
