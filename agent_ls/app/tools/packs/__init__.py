"""Tool packs: groups of additional tools, which settings or `exec --tools` choose."""
