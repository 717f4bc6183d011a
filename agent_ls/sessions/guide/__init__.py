"""Guided review of sessions: read the facts of a log and of the files, and build the rows."""
