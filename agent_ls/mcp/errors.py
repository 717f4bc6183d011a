"""Errors of MCP servers that several modules raise or handle."""

from __future__ import annotations


class LoginNeededError(Exception):
    """The user must log in to the server first."""

    def __init__(self) -> None:
        super().__init__("the server requires a login")
