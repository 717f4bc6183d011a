"""Recordings of sessions: the model's answers, the environment and the events, for replay without network."""
