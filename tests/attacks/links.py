"""Make workspaces from a seed in which files, folders and sensitive files are linked to one another in any way."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

_SENSITIVE = (
    ".vscode/settings.json",
    ".git/hooks/pre-commit",
    ".git/config",
    ".husky/pre-push",
    ".github/workflows/a.yml",
    "AGENTS.md",
    ".envrc",
)
_FOLDERS = ("", "a", "a/b", "docs", ".vscode", ".git/hooks", ".git", ".husky", ".github/workflows")
_NAMES = ("x", "y", "z", "settings.json", "pre-commit", "config", "a.yml")
_GUARDED = (".vscode", ".git", ".husky", ".github")
_KINDS = ("file", "file", "link", "link", "link", "hard", "folder")


@dataclass(frozen=True, slots=True)
class Linked:
    """A workspace with links, and the name by which an attack changes a file in it."""

    kinds: tuple[tuple[str, str, str], ...]
    """What is made: its kind, its path, and the path that it leads to; "" for none."""
    changed: str

    def build(self, folder: Path) -> None:
        for name in _FOLDERS:
            (folder / name).mkdir(parents=True, exist_ok=True)
        for kind, name, target in self.kinds:
            path = folder / name
            with suppress(OSError):  # a link may already have this name, or lead to nothing
                path.parent.mkdir(parents=True, exist_ok=True)
                if kind == "file" and not os.path.lexists(path):
                    path.write_text("x\n")
                elif kind == "hard":
                    os.link(folder / target, path, follow_symlinks=False)
                elif kind in ("link", "folder"):
                    path.symlink_to(folder / target)


def workspaces(seed: int, count: int) -> Iterator[Linked]:
    chance = random.Random(seed)
    for _ in range(count):
        made: list[tuple[str, str, str]] = []
        for _ in range(chance.randint(3, 8)):
            kind = chance.choice(_KINDS)
            path = _path(chance) if chance.random() < 0.7 else chance.choice(_SENSITIVE)
            known = [name for _, name, _ in made]
            target = chance.choice(known) if known and chance.random() < 0.8 else _path(chance)
            made.append((kind, path, chance.choice(_FOLDERS) if kind == "folder" else target))
        changed = chance.choice(made)[1]
        deeper = f"{changed}/{chance.choice(_NAMES)}"
        yield Linked(tuple(made), deeper if chance.random() < 0.3 else changed)


def _path(chance: random.Random) -> str:
    return "/".join(filter(None, (chance.choice(_FOLDERS), chance.choice(_NAMES))))


def contents(folder: Path) -> dict[str, str]:
    """Return the text of each sensitive file, also of those behind links."""
    found: dict[str, str] = {}
    for guarded in _GUARDED:
        for place, folders, names in os.walk(folder / guarded, followlinks=True):
            if len(Path(place).relative_to(folder).parts) > 6:
                folders.clear()  # a link to a folder above
            found.update((path, _text(path)) for path in (os.path.join(place, name) for name in names))
    return found | {name: _text(folder / name) for name in ("AGENTS.md", ".envrc")}


def _text(path: str | Path) -> str:
    try:
        return Path(path).read_text()
    except OSError:
        return ""
