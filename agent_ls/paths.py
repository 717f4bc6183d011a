"""Pure: whether a path is below a folder, judged by its text.

No link is resolved, `..` is not followed and case counts: resolve or fold both paths before, where that matters. A
separator at the end of the folder does not matter.
"""

from __future__ import annotations

from os import path as ospath


def is_below(path: str, folder: str, separator: str = ospath.sep) -> bool:
    return path.startswith(folder.rstrip("\\/" if separator == "\\" else "/") + separator)


def is_within(path: str, folder: str, separator: str = ospath.sep) -> bool:
    """Return whether a path is the folder or below it."""
    return path == folder or is_below(path, folder, separator)
