"""Settings: their model, restrictions in untrusted folders, and the state folder."""
