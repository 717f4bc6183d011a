"""List the places that a confined read-only command may read: the workspace, and what programs need to run.

Everything else outside the workspace stays closed, even if the policy has misjudged the command. All functions
read the disk.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator, Sequence
from contextlib import suppress

from agent_ls.paths import is_within
from agent_ls.policy.places import Places

SYSTEM_PLACES = (
    "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/usr", "/opt", "/etc", "/proc", "/sys", "/nix",
    "/gnu", "/snap",
    "/run/current-system", "/run/opengl-driver", "/var/cache/man", "/var/lib/dpkg", "/var/lib/alternatives",
)  # fmt: skip
"""Programs, their libraries and data, settings of the system, and what the kernel tells about processes."""

_OF_TOOLS = (
    ".cargo", ".rustup", ".pyenv", ".rbenv", ".nvm", ".fnm", ".asdf", ".volta", ".sdkman", ".bun", ".deno",
    ".nix-profile",
    ".local/bin", ".local/lib", ".local/share/pipx", ".local/share/uv", ".local/share/mise", ".local/share/fnm",
    ".local/share/pnpm", ".local/state/nix",
)  # fmt: skip
"""Folders below the home in which tools are installed."""

_SETTINGS = (
    ".gitconfig", ".config/git", ".config/bat", ".config/fd", ".config/go", ".config/ripgrep", ".terminfo",
    ".jq", ".manpath",
)  # fmt: skip
"""Settings without which programs fail, although they only look."""

_BINARIES = ("bin", "sbin", "shims", "Scripts")


def list_readable(places: Places, temporary: str = "") -> tuple[str, ...]:
    """Return the existing files and folders that a read-only command may read; links are resolved.

    `temporary` is the session's folder for temporary files, "" for none. Blocks.
    """
    roots = [os.path.realpath(root) for root in places.roots]
    home = os.path.realpath(places.home)
    wanted = [*roots, *([temporary] if temporary else []), *SYSTEM_PLACES]
    wanted += [os.path.join(home, name) for name in (*_OF_TOOLS, *_SETTINGS)]
    for root in roots:
        wanted += _folders_of_git(root)
    for folder in (*os.get_exec_path(), os.path.dirname(sys.executable)):
        if os.path.isabs(folder):
            wanted += _installation(os.path.realpath(folder), (home, *roots))
    wanted += list_installation()
    found = [os.path.realpath(place) for place in wanted if os.path.lexists(place)]
    return tuple(dict.fromkeys(_without_inner(found)))


def list_installation() -> tuple[str, ...]:
    """Return the folders of the Python that runs agent-ls; links are resolved. Blocks."""
    return tuple(dict.fromkeys(map(os.path.realpath, (sys.prefix, sys.base_prefix))))


def _installation(folder: str, never: Sequence[str]) -> Iterator[str]:
    """Yield a folder of programs, and the folder around it with their libraries if it holds nothing else.

    `never` are folders with files of the user, which are never part of an installation.
    """
    yield folder
    around = os.path.dirname(folder)
    is_own = os.path.basename(folder) in _BINARIES and os.path.isdir(os.path.join(around, "lib"))
    if is_own and around != os.path.join(never[0], ".local"):
        if not any(is_within(place, around) for place in never):
            yield around


def _folders_of_git(root: str) -> Iterator[str]:
    """Yield the folders that git reads for a workspace folder: its `.git`, or the one to which a worktree points."""
    folder = root
    while not os.path.lexists(git := os.path.join(folder, ".git")):
        if folder == (folder := os.path.dirname(folder)):
            return
    if os.path.isdir(git):
        yield git
        return
    target = _target_of(git, "gitdir: ")
    if not target or not os.path.isfile(os.path.join(target, "HEAD")):
        return
    yield git
    yield target
    common = _target_of(os.path.join(target, "commondir"), "")
    if common and os.path.isfile(os.path.join(common, "HEAD")):
        yield common


def _target_of(file: str, start: str) -> str:
    """Return the path that a small file of git contains after `start`, "" for none."""
    with suppress(OSError, UnicodeDecodeError), open(file, encoding="utf-8") as opened:
        line = opened.readline(4096).rstrip("\n")
        if line.startswith(start):
            return os.path.realpath(os.path.join(os.path.dirname(file), line.removeprefix(start)))
    return ""


def _without_inner(places: Sequence[str]) -> Iterator[str]:
    """Yield the places that are not below another one."""
    every = set(places)
    for place in places:
        around = os.path.dirname(place)
        while around not in every and around != os.path.dirname(around):
            around = os.path.dirname(around)
        if around not in every or around == place:
            yield place
