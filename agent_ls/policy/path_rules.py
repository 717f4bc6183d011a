"""Pure: rules about paths: `write:GLOB` allows changes of files, `read:GLOB` allows reads that need approval.

    write:src/**          ordinary files below src/ of each workspace folder
    write:README.md       this one file, even if it is sensitive
    read:/data/**         files outside the workspace; an absolute path or one below `~/`

`*` and `?` match within one path component, `**` across components (as in `environments/globs.py`). Brackets and
braces are characters of a name. They are a class or alternatives only if no file or folder beside the path, or beside
one of the folders above it, has such a name.
Rules never cover credentials, files that the ignore file matches, the state folder, or deletions. A
pattern with wildcards does not cover sensitive files, or files whose names are in SECRET_FILES.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from functools import lru_cache
from os import path as ospath
from typing import Literal, TypeAlias

from agent_ls.environments.errors import InvalidPatternError
from agent_ls.environments.globs import compile_glob, find_readings
from agent_ls.patterns import regex
from agent_ls.policy.places import Places
from agent_ls.policy.rules import Rule, Scope

Kind: TypeAlias = Literal["read", "write"]

_SCOPES: tuple[tuple[Scope, str], ...] = (
    ("session", "in this session"),
    ("project", "in this project, from now on"),
    ("user", "in all projects, from now on"),
)
_SPECIAL = regex(r"[*?\[\]{}\\,]")


def parse_path_rule(text: str) -> str:
    """Return the id of the rule `write:GLOB` or `read:GLOB` in `text`, "" if it is not a valid rule."""
    kind, colon, glob = text.partition(":")
    if kind not in ("read", "write") or not colon:
        return ""
    glob = glob.strip().removeprefix("./")
    is_closed = glob.count("[") <= glob.count("]") and glob.count("{") <= glob.count("}")
    return f"{kind}:{glob}" if is_closed and any(map(_matcher, find_readings(glob))) else ""


def covering_rule(
    kind: Kind,
    views: Sequence[str],
    grants: Collection[str],
    places: Places,
    *,
    literal: bool = False,
    beside: Collection[str] | None = None,
) -> str:
    """Return the id of a granted rule that covers all `views` of one file, "" for none.

    `views` are the path of the file as given and as resolved. `literal`: use only rules without wildcards.
    `beside` are the names in the folders above the file; None if they are unknown.
    """
    for rule_id in sorted(grants):
        rule_kind, _, glob = rule_id.partition(":")
        if rule_kind != kind or not views:
            continue
        if literal and all(glob in _names(view, places, glob) for view in views):
            return rule_id
        if not literal and all(_covers(glob, view, places, beside) for view in views):
            return rule_id
        if kind == "read" and not literal and glob.endswith("/**"):
            # listing or searching the folder itself reads what the rule names
            if all(glob.removesuffix("/**") in _names(view, places, glob) for view in views):
                return rule_id
    return ""


def _covers(glob: str, view: str, places: Places, beside: Collection[str] | None) -> bool:
    """Return whether a rule's glob covers a path.

    A class or alternatives count only if no existing name has the same text.
    """
    names = [*_names(view, places, glob)]
    parts = glob.split("/")
    for reading in find_readings(glob):
        kept = [part for part, read in zip(parts, reading.split("/"), strict=True) if part == read]
        doubtful = [part for part in kept if len(find_readings(part)) > 1]
        if doubtful and (beside is None or any(_is_a_name(part, beside) for part in doubtful)):
            continue
        if (matches := _matcher(reading)) and any(map(matches.fullmatch, names)):
            return True
    return False


def _is_a_name(part: str, beside: Collection[str]) -> bool:
    """Return whether an existing file or folder is named like this component, brackets and braces included."""
    matches = _matcher(find_readings(part)[0])
    return matches is not None and any(map(matches.fullmatch, beside))


def write_offers(paths: Sequence[str], places: Places) -> tuple[Rule, ...]:
    """Return the rules to offer for changes of these resolved paths.

    The rules cover the folder that contains all of the paths; () if there is no such folder below the
    workspace.
    """
    inside = [name for path in paths if (name := _relative(path, places))]
    if not inside or len(inside) < len(paths) or any(map(_SPECIAL.search, inside)):
        return ()
    folder = ospath.commonpath([ospath.dirname(name) for name in inside]).replace("\\", "/")
    if not folder:
        return ()  # EDITS_RULE, which is always offered, covers these paths
    allows = (f"write {folder}/other.txt", f"write {folder}/sub/other.txt")
    asks = (f"write {ospath.dirname(folder) or 'other'}/other.txt", f"delete {folder}/other.txt")
    return _offers(f"write:{folder}/**", f"Allow writing files below {folder}/", allows, asks)


def read_offers(path: str, places: Places, *, is_folder: bool) -> tuple[Rule, ...]:
    """Return the rules to offer for reading a resolved `path` outside the workspace.

    The rules cover the folder, or that of the file; () if it is a root, or contains the home folder or credentials.
    """
    folder = path if is_folder else ospath.dirname(path)
    is_wide = (
        folder == ospath.dirname(folder) or places.holds_denied(folder) or places.home.startswith(folder)
    )
    if is_wide or _SPECIAL.search(folder):
        return ()
    allows = (f"read {ospath.join(folder, 'other.txt')}",)
    asks = (
        f"write {ospath.join(folder, 'other.txt')}",
        f"read {ospath.join(ospath.dirname(folder), 'other.txt')}",
    )
    return _offers(f"read:{folder}/**", f"Allow reading files below {folder}", allows, asks)


def _offers(rule_id: str, label: str, allows: tuple[str, ...], asks: tuple[str, ...]) -> tuple[Rule, ...]:
    return tuple(Rule(rule_id, f"{label} {words}", scope, allows, asks) for scope, words in _SCOPES)


@lru_cache(maxsize=256)
def _matcher(glob: str) -> re.Pattern[str] | None:
    """Compile a glob. Return None if the glob is empty or invalid, or has `.` or `..` as a component."""
    if not glob or any(part in (".", "..") for part in glob.replace("\\", "/").split("/")):
        return None
    try:
        return compile_glob(glob)
    except InvalidPatternError:
        return None


def _names(view: str, places: Places, glob: str) -> Iterator[str]:
    """Yield `view` in the notation of `glob`: starting with `~`, absolute, or relative to a workspace folder."""
    if glob.startswith("~/"):
        if view.startswith(home := places.home.rstrip("/\\") + ospath.sep):
            yield "~/" + view.removeprefix(home).replace(ospath.sep, "/")
    elif ospath.isabs(glob):
        yield view
        yield view.replace(ospath.sep, "/")
    elif name := _relative(view, places):
        yield name


def _relative(path: str, places: Places) -> str:
    """Return `path` relative to the first workspace folder that contains it, with `/`; "" for none."""
    for root in places.roots:
        prefix = root.rstrip("/\\") + ospath.sep
        if path.startswith(prefix):
            return path.removeprefix(prefix).replace(ospath.sep, "/")
    return ""
