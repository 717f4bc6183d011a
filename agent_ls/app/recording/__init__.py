"""A session recorded so that it can be replayed without network, and compared: its model, its place, its events."""
