"""Find links to places outside the workspace, in folders that a command reads together with the targets of links."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from agent_ls.policy.places import Places
from agent_ls.program_lookup import find_on
from agent_ls.services.permissions.shown_secrets import MAX_ENTRIES

if TYPE_CHECKING:
    from agent_ls.policy.shell.understand import CommandAnalysis


def followed_link(found: CommandAnalysis, places: Places) -> str:
    """Return why a command such as `rg -L` or `tar x` would use files outside the workspace, "" if no link leads there.

    Blocks, because it reads the folders.
    """
    # imported late: loads a grammar
    from agent_ls.policy.shell.recursive import follows_links, greps_folders, unpacks

    for argv, folders in found.runs:
        is_reading = follows_links(argv) or (greps_folders(argv) and _is_of_busybox(argv[0]))
        if is_reading or unpacks(argv):
            for folder in folders:
                if why := _leading_outside(_folders_of(argv, folder), places, only_folders=not is_reading):
                    return why
    return ""


def _is_of_busybox(program: str) -> bool:
    return os.path.basename(os.path.realpath(find_on(program) or "")).startswith("busybox")


def _folders_of(argv: Sequence[str], folder: str) -> Sequence[str]:
    """Return the folders that the words of a command name; the working directory if there are none."""
    named = [os.path.join(folder, word) for word in argv[1:] if not word.startswith("-")]
    return [it for it in named if os.path.isdir(it)] or [folder]


def _leading_outside(folders: Sequence[str], places: Places, *, only_folders: bool) -> str:
    """Return why the command follows a link that leads outside. `only_folders`: it replaces links to files."""
    pending = [*folders]
    seen: set[str] = set()
    count = 0
    while pending:
        folder = os.path.realpath(pending.pop())
        if folder in seen:
            continue
        seen.add(folder)
        try:
            with os.scandir(folder) as entries:
                found = [(entry.path, entry.is_symlink(), entry.is_dir()) for entry in entries]
        except OSError:
            continue
        count += len(found)
        if count > MAX_ENTRIES:
            return f"{folders[0]} has too many files to check where links in it lead."
        for path, is_link, is_dir in found:
            if is_link and (is_dir or not only_folders) and not places.is_inside(os.path.realpath(path)):
                return f"It follows the link {path}, which leads outside the workspace."
            if is_dir:
                pending.append(path)
    return ""
