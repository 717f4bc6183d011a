"""Create the parts of a session, and check its settings before it starts."""
