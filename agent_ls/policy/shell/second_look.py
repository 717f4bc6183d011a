"""ENGINE: the same command line looked at without a grammar: where the two see different commands, there is doubt.

Defence in depth: a slip in the grammar, or in how we read it, must not hide a command of the short list.
"""

from __future__ import annotations

import re

from agent_ls.policy.shell import dangers

_HEREDOC = re.compile(r"<<-?\s*(['\"])(\w+)\1.*?\n\2(\n|$)", re.DOTALL)
_SEPARATORS = re.compile(r"[;|&\n(){}`]|\$\(")
_QUOTING = re.compile(r"['\"\\]")
_SINGLE_QUOTED = re.compile(r"'[^']*'")


def disagreement(command: str) -> str:
    """Why the words deserve a question although the grammar found nothing, "" for nothing."""
    text = _HEREDOC.sub(" ", command)
    for part in _SEPARATORS.split(_without_long_quotes(text)):
        words = _QUOTING.sub("", part).split()
        name = words[0].rpartition("/")[2] if words else ""
        if dangers.is_known(name.casefold()) and name != ".":
            return f"{name} stands where a command may stand"
    return ""


def _without_long_quotes(text: str) -> str:
    """Quoted texts with spaces before them in a word's place are arguments; a quoted name is kept."""
    return _SINGLE_QUOTED.sub(
        lambda found: found[0] if " " not in found[0] and len(found[0]) < 20 else "''", text
    )
