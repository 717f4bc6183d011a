"""Pure: recognize calls of ps that list processes without their environment variables."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_ls.patterns import regex
from agent_ls.policy.shell.arguments import one_a_line

_PS_FACTS = (
    "pid|ppid|pgid|sid|user|uid|ruser|comm|cmd|args|command|etimes?|time|cputime|stat|state|s|%cpu|%mem|pcpu|pmem|rss|vsz|sz"
    "|lstart|start|start_time|bsdstart|tty|tt|ni|nice|pri|nlwp|psr|wchan|group|ucmd|ucomm"
)
_PS_LIST = rf"[-+]?(?:{_PS_FACTS})=?(?:,[-+]?(?:{_PS_FACTS})=?)*"
_LISTS = regex(
    rf"(?:-[AefFlw]+\n|-[AefFlw]*o\n?{_PS_LIST}\n|--sort[=\n]{_PS_LIST}\n|-C\n?[\w.-]+\n|-p\n?\d+(?:,\d+)*\n"
    r"|--no-headers\n|--forest\n|-ww\n)*"
)
"""Arguments of ps, one a line, that it can read in one way only.

If ps does not understand its arguments in one way, it reads all words as letters of options. `e` displays variables.
"""


def only_lists(arguments: Sequence[str]) -> bool:
    """Return whether ps can read its arguments in one way only, and then displays no variables."""
    return _LISTS.fullmatch(one_a_line(arguments)) is not None


def prints_no_variables(arguments: Sequence[str]) -> bool:
    """Return whether the words are certainly no options that display variables.

    Letters without a dash are options too. The letter `e` displays the environment of every process.
    """
    plain = [word for word in arguments if not word.startswith("-")]
    return (
        not any("env" in word.lower() for word in arguments)
        and all(re.fullmatch(r"[auxfw]+|\d+|[a-z,%]+", word) for word in plain)
        and not any("e" in word and at == 0 for at, word in enumerate(arguments) if not word.startswith("-"))
    )


def danger(arguments: Sequence[str]) -> str:
    """Return why a call of ps is dangerous, "" if it is not."""
    shows = any((not word.startswith("-") and "e" in word) or word.startswith("-E") for word in arguments)
    is_dangerous = shows and not only_lists(arguments)
    return "Shows environment variables of other processes (ps e)." if is_dangerous else ""
