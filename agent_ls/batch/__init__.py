"""Run the tasks of a manifest, each in its own process and its own work folder (`agent-ls batch`)."""
