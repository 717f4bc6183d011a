"""A recording that may be shown to others: keys, addresses and names of the machine taken out, alike everywhere. Pure.

What looks like a secret is replaced by what does not; the same word by the same, so that a replay is still one. It is
no promise that nothing private is left: code and words of a project are what a recording is about.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from agent_ls.loop.redaction import without_known

_SECRETS = re.compile(
    r"""\b(?:sk|pk|rk)-[A-Za-z0-9_-]{16,}
      | \bgh[pousr]_[A-Za-z0-9]{20,} | \bgithub_pat_[A-Za-z0-9_]{20,}
      | \bxox[abprs]-[A-Za-z0-9-]{10,} | \bAKIA[0-9A-Z]{16}\b | \bAIza[0-9A-Za-z_-]{30,}
      | \beyJ[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}\.[A-Za-z0-9_-]{10,}
      | (?<=[Bb]earer\ )[A-Za-z0-9._~+/-]{16,}=*
      | (?<=://)[^/\s:@"\\]+:[^/\s:@"\\]+(?=@)
      | -----BEGIN[ A-Z]*PRIVATE\ KEY-----.*?-----END[ A-Z]*PRIVATE\ KEY-----""",
    re.VERBOSE | re.DOTALL,
)
_MAIL = re.compile(r"\b[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,}\b")


def shareable(text: str, *, home: str, user: str, host: str, known: Collection[str] = ()) -> str:
    """`known` are keys of the user's, of whatever form. `home`, `user` and `host` are those of this machine.

    A short name is left: it would be found in any word.
    """
    names: dict[str, str] = {}
    text = without_known(text, known)
    text = _SECRETS.sub(lambda found: names.setdefault(found[0], f"[secret-{len(names) + 1}]"), text)
    mails: dict[str, str] = {}
    text = _MAIL.sub(lambda found: mails.setdefault(found[0], f"person{len(mails) + 1}@example.org"), text)
    if len(home) > 1:
        text = text.replace(home, "/home/ada")
    for word, instead in ((user, "user"), (host, "machine")):
        if len(word) > 3:
            text = re.sub(rf"\b{re.escape(word)}\b", instead, text)
    return text
