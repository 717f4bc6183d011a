"""Which environment variables a command gets (000 section 4.2, REQUIREMENTS X5)."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Literal, TypeAlias

EnvPolicy: TypeAlias = Literal["filtered", "all", "none", "core", "minimal"]
"""`filtered`: all but the denied (the default); `core`: only the names always kept; `minimal`: only the nine of 004
section 6.4; `all`: secrets included."""

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

WINDOWS_NAMES = frozenset(
    """
    SYSTEMROOT SYSTEMDRIVE WINDIR COMSPEC PATHEXT TEMP TMP USERNAME USERPROFILE HOMEDRIVE HOMEPATH APPDATA LOCALAPPDATA
    PROGRAMDATA PROGRAMFILES PROGRAMFILES(X86) COMMONPROGRAMFILES PROCESSOR_ARCHITECTURE NUMBER_OF_PROCESSORS
    """.split()
)
"""Without these hardly any program starts on Windows; other systems have none of them."""

MINIMAL_NAMES = frozenset("PATH HOME USER LANG LC_ALL TERM SHELL TMPDIR TZ".split())  # 004 section 6.4

MIN_SECRET_CHARS = 8


@dataclass(frozen=True, slots=True)
class EnvRules:
    """`denied` are patterns of names beside DENIED_PATTERNS, `kept` names that are always given; both in any case."""

    policy: EnvPolicy = "filtered"
    denied: tuple[str, ...] = ()
    kept: tuple[str, ...] = ()

    def passes(self, name: str) -> bool:
        if _fits(name, self.kept):
            return True
        match self.policy:
            case "all" | "none":
                return self.policy == "all" and not _fits(name, self.denied)
            case "core" | "minimal":
                return name in (KEPT_NAMES if self.policy == "core" else MINIMAL_NAMES) | WINDOWS_NAMES
            case "filtered":
                return (name in KEPT_NAMES or not _fits(name, DENIED_PATTERNS)) and not _fits(
                    name, self.denied
                )


def child_environ(
    environ: Mapping[str, str],
    rules: EnvRules | EnvPolicy = "filtered",
    added: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """The variables of a child process: those of `environ` that `rules` let through, then `added` as given."""
    rules = rules if isinstance(rules, EnvRules) else EnvRules(rules)
    return {name: value for name, value in environ.items() if rules.passes(name)} | dict(added or {})


def without_secrets(environ: Mapping[str, str], secrets: Collection[str]) -> dict[str, str]:
    """The variables that hold none of these secrets, whatever their names are."""
    return {
        name: value for name, value in environ.items() if not any(_holds(value, secret) for secret in secrets)
    }


def _holds(value: str, secret: str) -> bool:
    # A short one is a local server's dummy: as a part of other values it means nothing.
    return secret in value if len(secret) >= MIN_SECRET_CHARS else secret == value


def _fits(name: str, patterns: Collection[str]) -> bool:
    return any(fnmatchcase(name.upper(), pattern.upper()) for pattern in patterns)
