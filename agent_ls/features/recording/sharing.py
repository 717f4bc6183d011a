"""Make recordings and transcripts shareable by replacing keys, addresses, and names of the machine.

Each secret is replaced by a placeholder. Equal secrets get the same placeholder, so a replay
still works. Private information may remain: the recording contains code and text of the project.
"""

from __future__ import annotations

import getpass
import os
import re
import socket
from collections.abc import Collection

from agent_ls.loop.calls.redaction import redacted, without_known
from agent_ls.patterns import regex

_SECRETS = regex(
    r"""\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}
      | \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_[A-Za-z0-9_]{20,}
      | \bxox[abprs]-[A-Za-z0-9-]{10,} | \bAKIA[0-9A-Z]{16}\b | \bAIza[0-9A-Za-z_-]{30,}
      | \beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}
      | (?<=[Bb]earer\ )[A-Za-z0-9._~+/-]{16,}=*
      | (?<=://)[^/\s:@"\\]+:[^/\s:@"\\]+(?=@)
      | -----BEGIN[ A-Z]*PRIVATE\ KEY-----.*?-----END[ A-Z]*PRIVATE\ KEY-----""",
    re.VERBOSE | re.DOTALL,
)
_MAIL = regex(r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}\b")


_HOMES = regex(
    r"""(?:(?<![\w.~])|(?<=-[A-Z]))(?:/home|/Users|/export/home)/[^/\s:;,'"`<>()\[\]{}|\\]+
      | \b[A-Za-z]:(?:\\+|/)Users(?:\\+|/)[^\\/\s:;,'"`<>()\[\]{}|]+""",
    re.VERBOSE,
)
# A name with at most this many characters is not replaced, because it may occur in other words.
_SHORT_NAME = 3


class Redaction:
    """Removes private data from the texts of one document; equal secrets get the same placeholder in all of them.

    `known` are the user's keys. `home`, `user` and `host` are those of this machine. Short names are not
    replaced.
    """

    def __init__(self, *, home: str, user: str, host: str, known: Collection[str] = ()) -> None:
        self._known = known
        self._home = home
        self._words = tuple(
            (re.compile(rf"\b{re.escape(word)}\b"), instead)
            for word, instead in ((user, "user"), (host, "machine"))
            if len(word) > _SHORT_NAME
        )
        self._secrets: dict[str, str] = {}
        self._mails: dict[str, str] = {}

    def redact_recording(self, text: str) -> str:
        """Return the text of a recording with private data replaced; the recording can still be replayed.

        The home folder is replaced by the absolute path `/home/ada`.
        """
        text = self._without_secrets(text)
        if len(self._home) > 1:
            text = text.replace(self._home, "/home/ada")
        return self._without_names(text)

    def redact_text(self, text: str) -> str:
        """Return a text with private data removed, for human readers. The home folder of any user is replaced
        by `~`.
        """
        text = redacted(self._without_secrets(text), self._known)
        if len(self._home) > 1:
            text = re.sub(rf"{re.escape(self._home)}(?![\w.-])", "~", text)
        return self._without_names(_HOMES.sub("~", text))

    def _without_secrets(self, text: str) -> str:
        text = without_known(text, self._known)
        secrets, mails = self._secrets, self._mails
        text = _SECRETS.sub(lambda found: secrets.setdefault(found[0], f"[secret-{len(secrets) + 1}]"), text)
        return _MAIL.sub(
            lambda found: mails.setdefault(found[0], f"person{len(mails) + 1}@example.org"), text
        )

    def _without_names(self, text: str) -> str:
        for pattern, instead in self._words:
            text = pattern.sub(instead, text)
        return text


def redaction_of_this_machine(known: Collection[str]) -> Redaction:
    """Return a redaction of the names of this user and machine, and of the keys in `known`."""
    return Redaction(home=os.path.expanduser("~"), user=_user_name(), host=socket.gethostname(), known=known)


def _user_name() -> str:
    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return ""
