"""Skills and slash commands in files: find them, list them for the model, and expand them when they
are used.
"""
