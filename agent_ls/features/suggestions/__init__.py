"""Texts that a model writes on request, without a session: suggestions at the cursor, and commit
messages.
"""
