"""Tool packs: groups of additional tools, offered only where settings or `exec --tools` ask for them."""
