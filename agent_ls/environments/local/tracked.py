"""Find the files that git tracks although an ignore file matches them: git shows them, so a search reads them too."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterable
from itertools import islice

from agent_ls.environments.local.git_index import tracked_paths
from agent_ls.environments.search import Tree, not_excluded

MAX_FILES = 1_000
"""Maximum number of such files: they are arguments of ripgrep."""


def tracked_besides(listed: Collection[str], folder: str, root: str, tree: Tree) -> list[str]:
    """Return the tracked files below `folder` that a search reads, and that are not in `listed`. Blocks.

    The paths begin with `folder` as it is given. `root` is the working directory, whose files for search programs
    (`.ignore`) apply.
    """
    return existing(sorted(tracked_paths(folder).difference(listed)), root, tree)


def existing(files: Iterable[str], root: str, tree: Tree) -> list[str]:
    """Return the first MAX_FILES of the files that exist and that no `.ignore` excludes. Blocks."""
    there = (file for file in files if os.path.isfile(file) and not os.path.islink(file))
    return [*islice(not_excluded(tree, there, root), MAX_FILES)]
