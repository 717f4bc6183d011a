"""Wrappers around an environment.

Each wrapper checks, changes or records some operations, and forwards the rest.
"""
