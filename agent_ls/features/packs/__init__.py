"""Tool packs: groups of additional tools, selected by settings or `exec --tools`."""
