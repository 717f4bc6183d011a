"""Pure: the variables that a command line may set without approval, and those that change what commands do."""

from __future__ import annotations

import re
from collections.abc import Iterator

from agent_ls.patterns import regex

ASSIGNING = frozenset(("export", "declare", "typeset", "local", "readonly", "unset"))
SHELL_WORDS = frozenset(
    "! { } [[ ]] if then elif else fi for in do done while until case esac function select coproc repeat foreach end "
    "noglob nocorrect".split()
)
"""Words of shells. If the grammar takes one for the name of a program, it has misread the command."""

_HARMLESS = regex(
    r"LC_\w+|LANG|LANGUAGE|TZ|NO_COLOR|FORCE_COLOR|CLICOLOR\w*|TERM|COLUMNS|LINES|CI|DEBUG|VERBOSE|RUST_BACKTRACE|"
    r"PYTHONUNBUFFERED|PYTHONDONTWRITEBYTECODE|NODE_ENV"
)
_HARMLESS_VALUES = frozenset(
    "PAGER=cat GIT_PAGER=cat MANPAGER=cat GH_PAGER=cat GIT_OPTIONAL_LOCKS=0 GIT_TERMINAL_PROMPT=0".split()
)
_PLAIN_NAME = regex(r"(?<![\w$.-])(?<!\$\{)(?<!\$\{[#!])[A-Za-z_]\w*")
_NAMES_OTHERS = regex(r"(?<!getopts )(?:-type [a-z]|--arg(?:json)? [A-Za-z_]\w*)\b")
"""Words of find and jq that no command of the shell takes for the name of a variable."""
_LETTERS = regex(r"(?<!\w)-(\w+)")
MAX_LETTERS = 40
_SECRET = regex(
    r"KEY|TOKEN|SECRET|PASS|CRED|AUTH|PRIVATE|COOKIE|JWT|BEARER|WEBHOOK|_PWD|(?:\A|_)(?:PAT|DSN|PIN|SALT)(?:_|\Z)",
    re.IGNORECASE,
)
_ZONE = regex(r"[A-Z]\w*(?:/[A-Z][\w+-]*){1,2}")
_PLAIN_VALUE = regex(r"[\w.:@+-]*")
_CHANGING = regex(
    r"IFS|PATH|ENV|HOME|CDPATH|SHELL|BASH_\w+|BASHOPTS|SHELLOPTS|PS[0-4]|PROMPT_COMMAND|GLOBIGNORE|OPTIND|histchars|"
    r"(LD|DYLD|GIT|NPM_CONFIG|npm_config|SSH|GCC|RUSTC|CARGO|JAVA_TOOL|JDK|MAVEN|GRADLE)_\w+|RUSTC|RUSTC_\w+|"
    r"\w*(PAGER|EDITOR|BROWSER|VISUAL)|LESS\w*|MAN(OPT|PATH|ROFFOPT|ROFFSEQ)|BAT_\w+|GCONV_PATH|"
    r"PYTHON(PATH|STARTUP|HOME|INSPECT|USERBASE|PLATLIBDIR)|"
    r"PERL5?(LIB|OPT|DB)|RUBY(LIB|OPT)|NODE_(OPTIONS|PATH)|CLASSPATH|PYTEST_(ADDOPTS|PLUGINS)|MAKEFLAGS|MAKEFILES|"
    r"CC|CXX|(HTTPS?|ALL|http|https|all)_?(PROXY|proxy)|GOFLAGS|GOTOOLCHAIN|TAR_OPTIONS|ZIPOPT|GREP_OPTIONS|"
    r"RIPGREP_CONFIG_PATH|XDG_\w+|DOCKER_\w+|BASH|TMPDIR|AWKPATH|AWKLIBPATH|LOCPATH|TERMINFO\w*|POSIXLY_CORRECT"
)
_OWN = regex(
    r"[a-z][a-z0-9]{0,15}|(?!(?:npm|pnpm|yarn|rvm|auto|module)_)[a-z][a-z0-9]{0,15}(?:_(?!proxy\Z)[a-z0-9]{1,15}){1,3}"
    r"|[A-Z]|DIR|FILE|FILES|NAME|ROOT|SRC|BASE|COUNT|COMMIT|BRANCH|HASH|PATTERN"
    r"|VERSION|TAG|LAST|LATEST|CURRENT|TOTAL|RESULT|SHA|REV|PKG|PREV|LINE|NUM|MSG|ITEM"
)


def names_in(text: str) -> Iterator[str]:
    """Yield each variable name that the text may set: all names except expansions (`$x`).

    This includes names that are attached to an option, as in `printf -vx`.
    """
    yield from _PLAIN_NAME.findall(_NAMES_OTHERS.sub("", text))
    for letters in _LETTERS.findall(text):
        yield from (letters[at:] for at in range(1, min(len(letters), MAX_LETTERS)))


def is_harmless(name: str, value: str = "") -> bool:
    """Return whether setting this variable does not change the effects of a command."""
    if name == "TZ" and _ZONE.fullmatch(value):
        return True
    if _HARMLESS.fullmatch(name):
        return bool(_PLAIN_VALUE.fullmatch(value))
    return f"{name}={value}" in _HARMLESS_VALUES


def changes_commands(name: str) -> bool:
    """Return whether the variable changes which program a command runs, or makes the command run other
    programs.
    """
    return bool(_CHANGING.fullmatch(name))


def is_secret(name: str) -> bool:
    """Return whether an environment variable with this name may hold a secret."""
    return bool(_SECRET.search(name)) and not is_own(name)


def is_own_function(name: str) -> bool:
    """Return whether a call of a function that the line defines runs it, and only the line calls it.

    In some shells, their own special commands come before functions.
    """
    return re.fullmatch("[a-z][a-z0-9_]*", name) is not None and name not in _NOT_DEFINED


_NOT_DEFINED = (
    frozenset("source shift trap times exec eval set command_not_found_handle".split()) | SHELL_WORDS
)


def is_own(name: str) -> bool:
    """Return whether only the command line itself uses the variable, because no program reads this name."""
    return bool(_OWN.fullmatch(name)) and not changes_commands(name)
