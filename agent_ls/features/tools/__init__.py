"""Tools that depend on the user or the editor: YAML tools, language tools, notebooks."""
