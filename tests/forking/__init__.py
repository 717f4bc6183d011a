"""Starts programs of tests by a fork of a process that has imported them."""
