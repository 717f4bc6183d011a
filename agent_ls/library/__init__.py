"""The interface for Python programs (`import agent_ls`): sessions and their events, without an editor or a terminal."""
