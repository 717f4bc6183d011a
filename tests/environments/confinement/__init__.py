"""Read-only commands under confinement, tested with the real mechanisms of this machine (Landlock, bubblewrap)."""
