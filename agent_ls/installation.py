"""Find out how agent-ls was installed, and which shell command installs one of its optional extras."""

from __future__ import annotations

import json
import os
import re
import shlex
import sys
from collections.abc import Sequence
from importlib import metadata, util
from pathlib import Path
from urllib.parse import urlunsplit
from urllib.request import url2pathname

from agent_ls.addresses import split_address
from agent_ls.patterns import regex
from agent_ls.program_lookup import find_on

NAME = "agent-ls"

_PLAIN_ON_WINDOWS = regex(r"[\w.:/\\+@=-]+")
_UV_CACHE = regex(r"(archive|environments|builds)-v\d+")


def install_source() -> str:
    """Return the path or URL from which agent-ls was installed; "" if that was a package index, or is unknown."""
    try:
        found = json.loads(metadata.distribution(NAME).read_text("direct_url.json") or "{}")
        url = split_address(str(found.get("url", "")))
        if commit := found.get("vcs_info"):
            return f"{commit['vcs']}+{_without_login(url.geturl())}@{commit['commit_id']}"
    except (metadata.PackageNotFoundError, ValueError, LookupError, AttributeError):
        return ""
    return url2pathname(url.path) if url.scheme == "file" else _without_login(url.geturl())


def _without_login(address: str) -> str:
    parts = split_address(address)
    return urlunsplit(parts._replace(netloc=parts.netloc.rpartition("@")[2]))


def temporary_tool(prefix: Path) -> str:
    """Return the tool that created the environment at `prefix` for a single run: "uv" (uvx) or "pipx" (`pipx run`).

    Return "" for any other environment.
    """
    for folder in prefix.parents:
        if (folder / "CACHEDIR.TAG").is_file():
            if _UV_CACHE.fullmatch(prefix.relative_to(folder).parts[0]):
                return "uv"
            return "pipx" if folder.name == "pipx" and folder == prefix.parent else ""
    return ""


def shell_words(words: Sequence[str], *, for_windows: bool = os.name == "nt") -> str:
    """Return the words as a command line, quoted for a POSIX shell, or for the shells of Windows if `for_windows`."""
    if not for_windows:
        return shlex.join(words)
    return " ".join(word if _PLAIN_ON_WINDOWS.fullmatch(word) else f'"{word}"' for word in words)


def extra_command(extra: str, prefix: Path | None = None) -> str:
    """Return the shell command that installs the packages of an extra, in the way that agent-ls was installed.

    `prefix` None means the environment of this process; tests pass another one. The command adds packages to this
    environment and never installs agent-ls again. An environment for one run (uvx, `pipx run`) cannot get packages, so
    the command starts agent-ls with the packages, or installs agent-ls first.
    """
    prefix = prefix or Path(sys.prefix)
    packages = _packages_of(extra)
    source = install_source() or NAME
    temporary = temporary_tool(prefix)
    if temporary == "uv":
        more = [word for package in packages for word in ("--with", package)]
        return shell_words(["uvx", *more, "--from", source, NAME])
    if temporary == "pipx":
        return f"{shell_words(['pipx', 'install', source])} && {shell_words(['pipx', 'inject', NAME, *packages])}"
    if (prefix / "pipx_metadata.json").is_file():
        return shell_words(["pipx", "inject", prefix.name, *packages])
    if (prefix / "uv-receipt.toml").is_file() or (util.find_spec("pip") is None and find_on("uv")):
        return shell_words(["uv", "pip", "install", "--python", sys.executable, *packages])
    return shell_words([sys.executable, "-m", "pip", "install", *packages])


def _packages_of(extra: str) -> list[str]:
    """Return the packages that an extra requires.

    If agent-ls is not installed (this process runs from a source folder), return `agent-ls[EXTRA]`.
    """
    try:
        required = metadata.requires(NAME) or []
    except metadata.PackageNotFoundError:
        required = []
    of_extra = re.compile(rf"extra\s*==\s*['\"]{re.escape(extra)}['\"]")
    found = [text.partition(";")[0].strip() for text in required if of_extra.search(text)]
    return found or [f"{NAME}[{extra}]"]
