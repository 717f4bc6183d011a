"""The front end for clients of the Agent Client Protocol (ACP): `agent-ls acp`."""
