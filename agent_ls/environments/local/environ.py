"""Which environment variables a command gets (000 section 4.2, REQUIREMENTS X5)."""

from __future__ import annotations

from collections.abc import Mapping
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


def child_environ(
    environ: Mapping[str, str], policy: EnvPolicy = "filtered", added: Mapping[str, str] | None = None
) -> dict[str, str]:
    """The variables of a child process: those of `environ` that `policy` lets through, then `added` as given."""
    return {name: value for name, value in environ.items() if _passes(name, policy)} | dict(added or {})


def _passes(name: str, policy: EnvPolicy) -> bool:
    if policy in ("all", "none"):
        return policy == "all"
    if name in KEPT_NAMES or policy == "core":
        return name in KEPT_NAMES
    return not any(fnmatchcase(name.upper(), pattern) for pattern in DENIED_PATTERNS)
