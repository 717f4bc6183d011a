"""Keep the secrets of a program out of its sessions, and out of what the logger `agent_ls` says.

The program configures its own handlers, so records are redacted before they reach one.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from weakref import WeakSet

from agent_ls.environments.local.environ import hidden_values
from agent_ls.llm.credentials import Credentials
from agent_ls.loop.calls.redaction import MIN_KNOWN_CHARS, MIN_WORD_CHARS, is_redacted, redacted
from agent_ls.services.errors import BadChoiceError

_FORMAT = logging.Formatter()
_open: WeakSet[Credentials] = WeakSet()


def check_secrets(secrets: Sequence[str]) -> None:
    """Raise BadChoiceError for a value that is too short to be found in texts. The error does not have the value."""
    if isinstance(secrets, str):
        raise BadChoiceError("secrets is a str", "pass a list of values")
    for number, value in enumerate(secrets, 1):
        if not is_redacted(value):
            raise BadChoiceError(
                f"secrets: value {number} has {len(value)} characters, which could be part of any text",
                f"pass values with at least {MIN_KNOWN_CHARS} characters, or {MIN_WORD_CHARS} with letters and digits",
            )


def hide_secrets(credentials: Credentials, secrets: Sequence[str]) -> Credentials:
    """Add the values that the program declares, and those of variables that commands get only if the user says so."""
    credentials.redact([*secrets, *hidden_values(os.environ)])
    _open.add(credentials)
    return credentials


class RedactingHandler(logging.Handler):
    """Removes secrets from each record, before the handlers of the program get it. Writes nothing."""

    def emit(self, record: logging.LogRecord) -> None:  # overrides logging.Handler
        try:
            self._redact(record)
        except Exception:  # such as of a message that its arguments do not fit
            self.handleError(record)

    def _redact(self, record: logging.LogRecord) -> None:
        known = {value for credentials in tuple(_open) for value in credentials.known_secrets()}
        message = record.getMessage()
        if (clean := redacted(message, known)) != message:
            record.msg, record.args = clean, ()
        if not record.exc_info:
            return
        trace = record.exc_text or _FORMAT.formatException(record.exc_info)
        if (clean := redacted(trace, known)) != trace:
            # A formatter of the program would read the exception itself.
            record.exc_text, record.exc_info = clean, None
