"""Replay a recorded session: run the real agent loop, with the recorded answers of the model and of the
environment.
"""
