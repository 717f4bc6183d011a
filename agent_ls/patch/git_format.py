"""Render changes of files as a patch that `git apply` reads."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.patch.unified import file_diff, unified_diff
from agent_ls.patterns import regex

_QUOTED = regex(r'["\\\x00-\x1f\x7f]')
_LINK = "120000"
_MODES = regex(r"\A(?:old mode (\d+)\nnew mode (\d+)|(?:new|deleted) file mode (120000))\n")
_NAMES = regex(r"\A--- [^\n]*\n\+\+\+ [^\n]*\n")


def git_patch(before: str | None, after: str | None, name: str, is_executable: bool = False) -> str:
    """Return the patch of one file, "" if nothing differs. None means that the file does not exist.

    `name` is the path relative to the folder in which the patch is applied, with slashes. `is_executable` is about
    a new or deleted file.
    """
    if before == after:
        return ""
    old, new = _quote(f"a/{name}"), _quote(f"b/{name}")
    mode = "new" if before is None else "deleted" if after is None else ""
    bits = "100755" if is_executable else "100644"
    head = f"diff --git {old} {new}\n" + f"{mode} file mode {bits}\n" * bool(mode)
    if not (before or after):  # git expects no names where there are no lines
        return head
    body = _NAMES.sub("", file_diff(before, after, name).text)
    tab = "\t" * (" " in name)  # ends a name with blanks
    old_name = "/dev/null" if before is None else f"{old}{tab}"
    new_name = "/dev/null" if after is None else f"{new}{tab}"
    return f"{head}--- {old_name}\n+++ {new_name}\n{body}"


def mode_diff(before: int, after: int) -> str:
    """Return the lines in which git says that the permission bits of a file changed."""
    return f"old mode 100{before:03o}\nnew mode 100{after:03o}\n"


def link_diff(before: str | None, after: str | None, name: str) -> str:
    """Return the diff between two targets of a symbolic link, as git writes it. None means that there is no link."""
    how = "new" if before is None else "deleted" if after is None else ""
    head = f"{how} file mode {_LINK}\n" if how else f"old mode {_LINK}\nnew mode {_LINK}\n"
    return head + unified_diff(before, after, name)


def is_beside_text(diff: str) -> bool:
    """Return whether `mode_diff` or `link_diff` made a diff."""
    return _MODES.match(diff) is not None


def describe_beside_text(diffs: Sequence[str]) -> str:
    """Return what diffs of one path by `mode_diff` and `link_diff`, oldest first, say all together; "" for nothing."""
    found = [matched for diff in diffs if (matched := _MODES.match(diff))]
    if not found:
        return ""
    first, last = found[0], found[-1]
    if _LINK not in (first[1], first[3], last[1], last[3]):
        return "" if first[1] == last[2] else f"its mode changed from {first[1]} to {last[2]}"
    is_gone_again = first[0].startswith("new") and last[0].startswith("deleted")
    return "" if is_gone_again else "it is or was a symbolic link"


def _quote(name: str) -> str:
    """Return a name as git writes it: in quotes, with C's escapes, if it has a mark that would end it."""
    if not _QUOTED.search(name):
        return name
    escaped = _QUOTED.sub(lambda found: "\\" + format(ord(found[0]), "03o"), name)
    return f'"{escaped}"'
