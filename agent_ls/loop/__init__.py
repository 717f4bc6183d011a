"""One conversation: turns, events, the session that performs them."""
