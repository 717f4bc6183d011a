"""Recordings of sessions: model responses, results of the environment, and events, for replay without a
network.
"""
