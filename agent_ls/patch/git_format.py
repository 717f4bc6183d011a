"""Render changes of files as a patch that `git apply` reads."""

from __future__ import annotations

from agent_ls.patch.unified import file_diff
from agent_ls.patterns import regex

_QUOTED = regex(r'["\\\x00-\x1f\x7f]')
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


def _quote(name: str) -> str:
    """Return a name as git writes it: in quotes, with C's escapes, if it has a mark that would end it."""
    if not _QUOTED.search(name):
        return name
    escaped = _QUOTED.sub(lambda found: "\\" + format(ord(found[0]), "03o"), name)
    return f'"{escaped}"'
