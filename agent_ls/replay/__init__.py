"""Replay a recorded session: the same loop with the recorded answers."""
