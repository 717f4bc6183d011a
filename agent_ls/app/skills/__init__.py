"""Skills and slash commands that users keep in files: found, listed for the model, and expanded when used."""
