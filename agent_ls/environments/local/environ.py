"""Which environment variables a command gets (000 section 4.2, REQUIREMENTS X5)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

EnvPolicy: TypeAlias = Literal["filtered", "all", "none", "core"]
"""`filtered`: all but the denied (the default); `core`: only the names always kept; `all`: secrets included."""

DENIED_PATTERNS = ("*_API_KEY", "*_SECRET", "*_TOKEN", "*_PASSWORD", "*_CREDENTIAL")

KEPT_NAMES = frozenset(
    """
    PATH HOME USER LOGNAME SHELL LANG LC_ALL LC_CTYPE TERM TMPDIR TZ
    GOPATH GOROOT CARGO_HOME RUSTUP_HOME NVM_DIR NODE_PATH JAVA_HOME ANDROID_HOME
    PYENV_ROOT VIRTUAL_ENV CONDA_PREFIX PYTHONPATH GEM_HOME GEM_PATH RBENV_ROOT
    PNPM_HOME BUN_INSTALL DENO_DIR DOTNET_ROOT SDKMAN_DIR ASDF_DIR MISE_DATA_DIR
    """.split()
)
"""Always given. From the second line on: where a language's tools and packages are; builds find nothing without."""


MIN_SECRET_CHARS = 8


def child_environ(
    environ: Mapping[str, str], policy: EnvPolicy = "filtered", added: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The variables of a child process: those of `environ` that `policy` lets through, then `added` as given."""
    return {name: value for name, value in environ.items() if _passes(name, policy)} | dict(added or {})


def without_secrets(environ: Mapping[str, str], secrets: Collection[str]) -> dict[str, str]:
    """The variables that hold none of these secrets, whatever their names are."""
    return {
        name: value for name, value in environ.items() if not any(_holds(value, secret) for secret in secrets)
    }


def _holds(value: str, secret: str) -> bool:
    # A short one is a local server's dummy: as a part of other values it means nothing.
    return secret in value if len(secret) >= MIN_SECRET_CHARS else secret == value


def _passes(name: str, policy: EnvPolicy) -> bool:
    if policy in ("all", "none"):
        return policy == "all"
    if name in KEPT_NAMES or policy == "core":
        return name in KEPT_NAMES
    return not any(fnmatchcase(name.upper(), pattern) for pattern in DENIED_PATTERNS)
