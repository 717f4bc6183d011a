"""`agent-ls doctor` and the log of agent-ls itself."""
