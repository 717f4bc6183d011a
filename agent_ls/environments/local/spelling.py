"""Find a file whose name has the same letters in another form of Unicode: `é` can be one character or two."""

from __future__ import annotations

import os
import unicodedata


def existing_spelling(path: str) -> str:
    """Return the path of an existing file whose names differ from `path` only in their form; else `path`. Blocks.

    macOS and some archives write names decomposed (NFD), models and users compose them (NFC). Links are left out: the
    policy has judged `path`, and a link may lead elsewhere.
    """
    if path.isascii() or os.path.lexists(path):
        return path
    head, name = os.path.split(path)
    if not name:
        return path
    folder = existing_spelling(head)
    wanted = unicodedata.normalize("NFC", name)
    try:
        with os.scandir(folder) as entries:
            same = [
                it.name
                for it in entries
                if unicodedata.normalize("NFC", it.name) == wanted and not it.is_symlink()
            ]
    except OSError:
        return path
    return os.path.join(folder, min(same, default=name))
