"""Find packs for the languages and kinds of tasks of a folder, by the names of its files."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from fnmatch import fnmatchcase
from types import MappingProxyType

MARKERS: Mapping[str, Sequence[str]] = MappingProxyType(
    {
        "python": ("pyproject.toml", "setup.py", "setup.cfg", "requirements*.txt", "Pipfile"),
        "javascript": ("package.json",),
        "rust": ("Cargo.toml",),
        "go": ("go.mod",),
        "containers": ("Dockerfile", "Containerfile", "compose.y*ml", "docker-compose.y*ml", "Chart.yaml"),
        "data": ("*.ipynb",),
        "browser": ("index.html", "next.config.*", "vite.config.*"),
    }
)
"""Patterns of file names that indicate a language or a kind of task, by pack.

Subfolders are not searched.
"""

MAX_NAMES = 5_000  # a folder with more entries is not a project's top folder


def suggest_packs(folder: str) -> tuple[tuple[str, str], ...]:
    """Return the packs that fit the folder, each with the name of the file that indicates it.

    Blocks.
    """
    try:
        with os.scandir(folder) as entries:
            names = sorted(entry.name for entry, _ in zip(entries, range(MAX_NAMES), strict=False))
    except OSError:
        return ()
    return suggest_for_names(names)


def suggest_for_names(names: Sequence[str]) -> tuple[tuple[str, str], ...]:
    """Return the packs that fit a folder with these file names, each with the name that indicates
    it.
    """
    return tuple(_find_candidates(names))


def _find_candidates(names: Sequence[str]) -> Iterator[tuple[str, str]]:
    for pack, patterns in MARKERS.items():
        for name in names:
            if any(fnmatchcase(name, pattern) for pattern in patterns):
                yield pack, name
                break
