"""The events of a session: their types, their codec, and values derived from them."""
