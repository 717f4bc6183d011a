"""Skills and slash commands in files of the user: finds them, lists them for the model, and expands them when used."""
