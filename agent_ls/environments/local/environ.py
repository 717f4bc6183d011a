"""Choose the environment variables that a command gets."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

from agent_ls.environments.local.secret_variables import names_secret
from agent_ls.patterns import regex

EnvPolicy: TypeAlias = Literal["filtered", "all", "none", "core", "minimal"]
"""The variables that commands inherit.

`filtered` (default): all except names of secrets (secret_variables.py). `core`: only KEPT_NAMES. `minimal`: only
MINIMAL_NAMES. `none`: no variables. `all`: all variables, including secrets.
"""

PROXIES = ("*_PROXY",)
"""Variables with addresses of proxies.

They are passed on even with a password in the address, because without a proxy the command might have no
network.
"""

_ADDRESS_WITH_PASSWORD = regex(r"[A-Za-z][\w+.-]*://[^\s/:@]*:[^\s/@]+@")

SECRET_NAMES = ("*KEY*", "*SECRET*", "*TOKEN*", "*PASSWORD*", "*CREDENTIAL*", "*AUTH*", "COOKIE*")

KEPT_NAMES = frozenset(
    """
    PATH HOME USER LOGNAME SHELL LANG LC_ALL LC_CTYPE TERM TMPDIR TZ
    GOPATH GOROOT CARGO_HOME RUSTUP_HOME NVM_DIR NODE_PATH JAVA_HOME ANDROID_HOME
    PYENV_ROOT VIRTUAL_ENV CONDA_PREFIX PYTHONPATH GEM_HOME GEM_PATH RBENV_ROOT
    PNPM_HOME BUN_INSTALL DENO_DIR DOTNET_ROOT SDKMAN_DIR ASDF_DIR MISE_DATA_DIR
    """.split()
)
"""Names of variables that `filtered` and `core` pass on.

All lines except the first are locations of tools and packages of programming languages, which builds need.
"""

WINDOWS_NAMES = frozenset(
    """
    SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT TEMP TMP USERNAME USERPROFILE HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA
    PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) COMMONPROGRAMFILES PROCESSOR_ARCHITECTURE NUMBER_OF_PROCESSORS
    """.split()
)
"""Names of variables that almost every program on Windows needs; other systems do not have them."""

MINIMAL_NAMES = frozenset("PATH HOME USER LANG LC_ALL TERM SHELL TMPDIR TZ".split())

MIN_SECRET_CHARS = 8
MIN_HIDDEN_CHARS = 16
"""Minimum length of a value that counts as secret because of its variable's name, which nobody has declared."""

_OF_A_REPOSITORY = frozenset(
    """
    GIT_DIR GIT_WORK_TREE GIT_INDEX_FILE GIT_COMMON_DIR GIT_OBJECT_DIRECTORY GIT_ALTERNATE_OBJECT_DIRECTORIES
    GIT_PREFIX GIT_NAMESPACE GIT_GRAFT_FILE GIT_SHALLOW_FILE
    """.split()
)


@dataclass(frozen=True, slots=True)
class EnvRules:
    """Rules that select the environment variables of a command.

    Variables whose names match a pattern of `denied` are not passed on, in addition to those of secrets.
    Variables whose names match `kept` are always passed on. Both ignore case.
    """

    policy: EnvPolicy = "filtered"
    denied: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    def passes(self, name: str) -> bool:
        if _matches_any(name, self.kept):
            return True
        match self.policy:
            case "all" | "none":
                return self.policy == "all" and not _matches_any(name, self.denied)
            case "core" | "minimal":
                return name in (KEPT_NAMES if self.policy == "core" else MINIMAL_NAMES) | WINDOWS_NAMES
            case "filtered":
                is_secret = name not in KEPT_NAMES and names_secret(name)
                return not is_secret and not _matches_any(name, self.denied)


def child_environ(
    environ: Mapping[str, str],
    rules: EnvRules | EnvPolicy = "filtered",
    added: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return the variables of a child process: those of `environ` that `rules` allow, and `added` unchanged."""
    rules = rules if isinstance(rules, EnvRules) else EnvRules(rules)
    kept = {name: value for name, value in environ.items() if rules.passes(name)}
    if rules.policy != "all":
        kept = {name: value for name, value in kept.items() if not _tells_password(name, value, rules)}
    return kept | dict(added or {})


def without_other_repository(environ: Mapping[str, str], own: str) -> Mapping[str, str]:
    """Leave out the variables with which a hook of git names its repository, if `own` is another one. Blocks.

    `own` is the folder of git that the working directory belongs to, "" if to none: then the variables are meant.
    """
    beside = os.path.dirname(os.path.realpath(environ.get("GIT_INDEX_FILE", "")))
    # a hook of `git commit -a` has an index, but no GIT_DIR
    named = environ.get("GIT_DIR", "") or (beside if os.path.isfile(os.path.join(beside, "HEAD")) else "")
    if not named or not own or os.path.realpath(named) == own:
        return environ
    return {name: value for name, value in environ.items() if name not in _OF_A_REPOSITORY}


def _tells_password(name: str, value: str, rules: EnvRules) -> bool:
    """Return whether the value is an address with a password (often DATABASE_URL) that must not be passed on."""
    return (
        not _matches_any(name, (*rules.kept, *PROXIES)) and _ADDRESS_WITH_PASSWORD.search(value) is not None
    )


def is_declared_secret(name: str, value: str) -> bool:
    """Return whether the value of a variable that a definition of the user names must be redacted everywhere. Blocks.

    Every such value counts, except variables that each program needs, and names of existing files.
    """
    is_usual = name in KEPT_NAMES | WINDOWS_NAMES | MINIMAL_NAMES or name.startswith("LC_")
    return bool(value) and not is_usual and not os.path.exists(value)


def is_secret_name(name: str) -> bool:
    """Return whether the name of a variable, a header or an option says that its value is secret."""
    return any(fnmatchcase(name.upper(), pattern) for pattern in SECRET_NAMES)


def hidden_values(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the values of variables that commands do not get because of their names, if they look like secrets.

    Short values, values of few different characters, paths and sentences may occur in any text.
    """
    for name, value in environ.items():
        is_random = len(value) >= MIN_HIDDEN_CHARS and len(set(value)) >= MIN_SECRET_CHARS
        is_text = value.startswith(("/", ".", "~")) or "://" in value or any(map(str.isspace, value))
        if names_secret(name) and is_random and not is_text:
            yield value


def secret_words(words: Sequence[str]) -> Iterator[str]:
    """Yield the secret values in the words of a command: `--token VALUE`, `--token=VALUE`, `-e API_KEY=VALUE`."""
    before = ""
    for word in words:
        name, has_value, value = word.partition("=")
        if has_value and is_secret_name(name) and value:
            yield value
        elif (
            before.startswith("--")
            and "=" not in before
            and is_secret_name(before)
            and not word.startswith("-")
        ):
            yield word
        before = word


def without_secrets(environ: Mapping[str, str], secrets: Collection[str]) -> dict[str, str]:
    """Return the variables whose values contain none of these secrets."""
    return {
        name: value
        for name, value in environ.items()
        if not any(_contains_secret(value, secret) for secret in secrets)
    }


def _contains_secret(value: str, secret: str) -> bool:
    # A short key is usually a placeholder for a local server, and may occur in other values by chance.
    return secret in value if len(secret) >= MIN_SECRET_CHARS else secret == value


def _matches_any(name: str, patterns: Collection[str]) -> bool:
    return any(fnmatchcase(name.upper(), pattern.upper()) for pattern in patterns)
