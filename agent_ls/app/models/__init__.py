"""Models: which exist, which one a session uses, and the keys to reach them."""
