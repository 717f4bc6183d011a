"""Pure: decide which paths match a glob, and read a glob whose brackets or braces may be part of a name.

Folders such as `[id]` (Next.js, SvelteKit) and `{{cookiecutter.name}}` have the characters of globs in their names.
So a glob with brackets or braces has several readings: an existing name comes first, and the class or the
alternatives count only if no existing path has that name.
"""

from __future__ import annotations

import posixpath
import re
import unicodedata
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import product

from agent_ls.environments.base import GrepOptions
from agent_ls.environments.errors import InvalidPatternError
from agent_ls.paths import is_within
from agent_ls.patterns import regex

MAX_CHOICES = 4
"""Components of a glob with two readings, for which all combinations are tried. With more: all names, or none."""

MAX_RANGE = 1_000
"""Members of a range such as `{1..9}`."""

_NEXT_EXCLUDED = regex(r"\s+(?=!)")
_WILDCARD = regex(r"[*?\[{\\]")
_TOKEN = regex(r"(\\.)|([\[\]{},])", re.DOTALL)
_OF_A_NAME = regex(r"\[|\{[^,{}/]*\}")
_RANGE = regex(
    r"\\.|\[[^]]+\]|\{(?:(?P<first>-?\d{1,9})\.\.(?P<last>-?\d{1,9})"
    r"|(?P<begin>[a-z])\.\.(?P<end>[a-z])|(?P<Begin>[A-Z])\.\.(?P<End>[A-Z]))(?:\.\.-?(?P<step>\d{1,9}))?\}",
    re.DOTALL | re.ASCII,
)


def compile_glob(pattern: str) -> re.Pattern[str]:
    """Compile a glob to a regular expression for whole paths with `/`.

    Supports `*`, `?`, `[a-z]`, `{a,b}`, `{1..9}`, `\\x`, and `**` as a component.

    Raises:
        InvalidPatternError
    """
    written = _RANGE.sub(lambda found: _members(found, pattern), unicodedata.normalize("NFC", pattern))
    try:
        return re.compile(_translate(written), re.DOTALL)
    except re.error as error:
        raise InvalidPatternError(pattern, str(error)) from error


def _members(found: re.Match[str], pattern: str) -> str:
    """Write a range as alternatives, as shells do: `{08..10}` is `{08,09,10}`. Other text stays as it is."""
    first, last, step = found["first"], found["last"], int(found["step"] or 1) or 1
    letters = found["begin"] or found["Begin"]
    if first is None and letters is None:
        return found[0]
    start, end = (ord(letters), ord(found["end"] or found["End"])) if letters else (int(first), int(last))
    numbers = range(start, end + 1, step) if start <= end else range(start, end - 1, -step)
    if len(numbers) > MAX_RANGE:
        raise InvalidPatternError(pattern, f"the range {found[0]} has more than {MAX_RANGE} members")
    if letters:
        return "{" + ",".join(map(chr, numbers)) + "}"
    is_padded = any(re.match(r"-?0\d", text) for text in (first, last))
    width = max(len(first), len(last)) if is_padded else 0
    return "{" + ",".join(f"{number:0{width}d}" for number in numbers) + "}"


def _translate(pattern: str) -> str:
    """Translate a glob to a regular expression that does not backtrack between wildcards.

    If another wildcard follows, a wildcard and the text after it are put into an atomic group (`(?>…)`),
    which matches only at the first possible position. The glob matches the same names as without the groups.
    But without them, backtracking for `*a*a*a*a*b` would take years on some names.
    """
    out: list[str] = []
    braces = 0
    in_folders = in_name = False  # whether an atomic group for folders, or for a name, is open
    i = 0
    while i < len(pattern):
        char, starts_component = pattern[i], i == 0 or pattern[i - 1] in "/{,"
        i += 1
        if starts_component and pattern.startswith("**/", i - 1):
            i += 2
            out.append(")" if in_folders else "")
            in_folders = not braces and _is_followed(pattern, i, folders=True)
            out.append("(?>(?:[^/]+/)*?" if in_folders else "(?:[^/]+/)*")
        elif char == "*":
            end = i + len(pattern[i:]) - len(pattern[i:].lstrip("*"))
            crosses = starts_component and end - i == 1 and (end == len(pattern) or pattern[end] in ",}")
            out.append(")" if in_name else "")
            in_name = not crosses and not braces and _is_followed(pattern, end, folders=False)
            out.append(".+" if crosses else "(?>[^/]*?" if in_name else "[^/]*")
            i = end
        elif char == "?":
            out.append("[^/]")
        elif char == "[":
            end = _class_end(pattern, i)
            out.append(_character_class(pattern[i:end]))
            i = end + 1
        elif char == "{":
            braces += 1
            out.append("(?:")
        elif char == "}" and braces:
            braces -= 1
            out.append(")")
        elif char == "," and braces:
            out.append("|")
        else:
            if char == "\\" and i < len(pattern):
                char, i = pattern[i], i + 1
            out.append(_either_form(char))
    if braces:
        raise InvalidPatternError(pattern, "a { has no }")
    return "".join(out)


def _either_form(char: str) -> str:
    """Return a regular expression for a character that file names may have composed or decomposed."""
    parts = unicodedata.normalize("NFD", char) if not char.isascii() else char
    return re.escape(char) if parts == char else f"(?:{re.escape(char)}|{re.escape(parts)})"


def _is_followed(pattern: str, start: int, *, folders: bool) -> bool:
    """Return whether another wildcard follows at or after `start`, before the next brace or comma.

    The wildcard is `**/` if `folders` is true, otherwise a `*` in the path component that contains `start`.
    """
    i = start
    while i < len(pattern) and pattern[i] not in "{},":
        if folders and pattern.startswith("**/", i) and pattern[i - 1] == "/":
            return True
        if not folders and pattern[i] in "*/":
            return pattern[i] == "*"
        if pattern[i] == "[":
            i = _class_end(pattern, i + 1)
        i += 2 if pattern[i] == "\\" else 1
    return False


def _class_end(pattern: str, start: int) -> int:
    first = start + (pattern[start : start + 1] in ("!", "^"))
    end = pattern.find("]", first + 1)  # a ] in the first position is literal
    if end < 0:
        raise InvalidPatternError(pattern, "a [ has no ]")
    return end


def _character_class(body: str) -> str:
    negated = body[0] in "!^"
    escaped = re.sub(r"([\\\[\]^&|~])", r"\\\1", body[negated:])
    return f"(?!/)[^{escaped}]" if negated else f"(?!/)[{escaped}]"


# --- names with the characters of globs -----------------------------------------------------------------------


@lru_cache(maxsize=256)
def find_readings(pattern: str) -> tuple[str, ...]:
    """Return the globs that `pattern` may mean, the one with the most literal names first and `pattern` last.

    Each glob before the last has some components whose brackets, braces and commas are part of the name.
    """
    parts = pattern.split("/")
    is_wild = "*" in pattern or "?" in pattern
    choices = [i for i, part in enumerate(parts) if _may_be_a_name(part, is_wild=is_wild)]
    picks: Iterable[tuple[bool, ...]] = product((True, False), repeat=len(choices))
    if len(choices) > MAX_CHOICES:
        picks = ((True,) * len(choices), (False,) * len(choices))
    found = []
    for pick in picks:
        named = {i for i, is_name in zip(choices, pick, strict=True) if is_name}
        found.append("/".join(escape_name(part) if i in named else part for i, part in enumerate(parts)))
    return tuple(found)


def escape_name(part: str) -> str:
    """Escape brackets, braces and commas, so that a glob reads them as characters of a name."""
    return _TOKEN.sub(lambda found: found[1] or f"\\{found[2]}", part)


def _may_be_a_name(part: str, *, is_wild: bool) -> bool:
    """Return whether a component of a glob may be the name of a file. `*.{ts,tsx}` is not taken for one."""
    bare = re.sub(r"\\.", "", part)
    return bool(_OF_A_NAME.search(bare)) or ("{" in bare and not is_wild)


@dataclass(frozen=True, slots=True)
class GlobPlan:
    """A glob in two parts: the absolute folder before its first wildcard, and the rest, matched below the
    folder.

    `name` is the last component of the glob, which matches file names; "" if the glob cannot be split at the
    last slash, for example because a brace contains the slash. `rest` has the readings of the rest.
    """

    folder: str
    rest: tuple[str, ...]
    name: str

    def select(self, files: Iterable[str]) -> Sequence[str]:
        """Return the files, given relative to `folder`, that the first reading matches which matches any."""
        if len(self.rest) == 1:
            return [*filter(compile_glob(self.rest[0]).fullmatch, files)]
        every = [*files]
        for reading in self.rest:
            if found := [*filter(compile_glob(reading).fullmatch, every)]:
                return found
        return ()


def plan_glob(pattern: str, path: str) -> GlobPlan:
    """Resolve `pattern` in the absolute folder `path`; an absolute pattern must be below `path` too.

    Raises:
        InvalidPatternError: the pattern is invalid, cannot match a file, or leaves `path` (the policy has
        checked `path`, but not the pattern).
    """
    if not pattern:
        raise InvalidPatternError(pattern, "the pattern is empty; ** finds all files")
    if pattern.endswith("/"):
        raise InvalidPatternError(
            pattern,
            "the pattern ends with a slash, so it matches no files; add ** to find the files below the folder",
        )
    parts = pattern.split("/")
    literal = next((i for i, part in enumerate(parts) if _WILDCARD.search(part)), len(parts) - 1)
    prefix = "/".join(parts[:literal]) or ("/" if pattern.startswith("/") else "")
    folder = posixpath.normpath(posixpath.join(path, prefix))
    if not is_within(folder, path, "/"):
        raise InvalidPatternError(
            pattern, f"the pattern leads out of {path}; give the folder to search as the path"
        )
    *folders, name = parts[literal:]
    is_separate = (
        not any(char in part for part in folders for char in "{[\\") and len(find_readings(name)) == 1
    )
    readings = find_readings("/".join(parts[literal:]))
    if len(readings) == 1:
        compile_glob(readings[0])  # raises
    return GlobPlan(folder, readings, name if is_separate else "")


def file_filter(options: GrepOptions) -> Callable[[str, str], bool]:
    """Return a predicate that says whether a search reads a file.

    The predicate gets the file's path twice: relative to the working directory, and relative to the searched
    folder.
    """
    first, second = path_filter(options.glob_filter), path_filter(options.names)
    return lambda one, other: first(one, other) and second(one, other)


def path_filter(glob_filter: str) -> Callable[[str, str], bool]:
    """Return a predicate that takes two spellings of a file's path and returns whether the file passes the
    filter.

    A glob without a slash applies to the file name. A glob with a slash applies to the whole path, in either
    spelling. A glob with a leading `!` excludes files, and may follow another glob (`*.js !*.min.js`). Raises
    InvalidPatternError.
    """
    tests = [_one_filter(glob) for glob in _NEXT_EXCLUDED.split(glob_filter) if glob]
    return lambda one, other: all(passes(one, other) for passes in tests)


def doubtful_globs(glob_filter: str) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield each glob of a filter that has several readings, with the readings that contain a name."""
    for part in filter(None, _NEXT_EXCLUDED.split(glob_filter)):
        glob = part.removeprefix("!").removeprefix("./").removeprefix("/")
        if len(readings := find_readings(glob)) > 1:
            yield glob, readings[:-1]


def _one_filter(glob_filter: str) -> Callable[[str, str], bool]:
    negated = glob_filter.startswith("!")
    glob = glob_filter[negated:].removeprefix("./")
    regex, by_name = compile_glob(glob.removeprefix("/")), "/" not in glob

    def passes(one: str, other: str) -> bool:
        names = (posixpath.basename(one),) if by_name else (one, other)
        return any(map(regex.fullmatch, names)) != negated

    return passes
