"""Where tools act: one seam, and the places behind it (memory, this machine, an editor)."""
