"""Errors of MCP servers that several modules raise or handle."""

from __future__ import annotations


class LoginNeededError(Exception):
    """The user must log in to the server first."""

    def __init__(self) -> None:
        super().__init__("the server requires a login")


class LoginRefusedError(Exception):
    """A login failed. `str()` says why, for the user."""


class RenewalError(Exception):
    """A login could not be renewed now, and is kept. `str()` says why, for the user."""

    def __init__(self, status: int) -> None:
        super().__init__(
            f"the login could not be renewed (HTTP status {status}): try again later, or log in again"
        )
