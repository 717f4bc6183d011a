"""How agent-ls was installed, and the shell command that adds what an extra of it needs."""

from __future__ import annotations

import json
import re
import shlex
import shutil
import sys
from importlib import metadata, util
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import url2pathname

NAME = "agent-ls"


def install_source() -> str:
    """Return what agent-ls was installed from: a path or an address; "" for a package index."""
    try:
        text = metadata.distribution(NAME).read_text("direct_url.json")
    except metadata.PackageNotFoundError:
        return ""
    if not text:
        return ""
    found = json.loads(text)
    url = str(found["url"])
    if vcs := found.get("vcs_info"):
        return f"{vcs['vcs']}+{url}@{vcs['commit_id']}"
    parts = urlsplit(url)
    return url2pathname(parts.path) if parts.scheme == "file" else url


def extra_command(extra: str, prefix: Path | None = None) -> str:
    """Return the shell command that installs the packages of an extra, in the way that agent-ls was installed.

    `prefix` is the environment of this process, for tests another one.
    """
    prefix = prefix or Path(sys.prefix)
    packages = " ".join(shlex.quote(package) for package in _packages_of(extra))
    if (prefix / "uv-receipt.toml").is_file():
        source = shlex.quote(install_source() or NAME)
        return f"uv tool install --force --with {packages} {source}"
    if (prefix / "pipx_metadata.json").is_file():
        return f"pipx inject {NAME} {packages}"
    python = shlex.quote(sys.executable)
    if util.find_spec("pip") is None and shutil.which("uv"):
        return f"uv pip install --python {python} {packages}"
    return f"{python} -m pip install {packages}"


def _packages_of(extra: str) -> list[str]:
    """Return the requirements of an extra; its own name if this process runs from sources that are not installed."""
    try:
        required = metadata.requires(NAME) or []
    except metadata.PackageNotFoundError:
        required = []
    of_extra = re.compile(rf"extra\s*==\s*['\"]{re.escape(extra)}['\"]")
    found = [text.partition(";")[0].strip() for text in required if of_extra.search(text)]
    return found or [f"{NAME}[{extra}]"]
