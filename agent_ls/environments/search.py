"""Pure: decide which files match a glob or an ignore file, and which lines match a pattern.

The environment in memory.py searches only with these functions. The local environment uses ripgrep and a part
of the functions, or all functions if ripgrep is not installed. The functions give the same results as
ripgrep.
"""

from __future__ import annotations

import posixpath
import re
import warnings
from bisect import bisect_right
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, islice
from typing import TYPE_CHECKING, Protocol

from agent_ls.environments.base import READ_LIMIT_BYTES, GrepLine, GrepOptions, GrepResult
from agent_ls.environments.errors import InvalidPatternError
from agent_ls.text import decode, looks_binary

if TYPE_CHECKING:
    import pathspec

MAX_LINE_CHARS = 2_000  # one long line of minified code could fill a model's context
IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")  # later ones take precedence, as in ripgrep
NEVER_LISTED = ".git"
SEARCH_LIMIT_BYTES = READ_LIMIT_BYTES
"""Files larger than this are not searched, because `read_bytes` refuses them too."""

_NEXT_EXCLUDED = re.compile(r"\s+(?=!)")
_RIPGREP_ONLY = re.compile(r"\[:\^?[a-z]+:\]|\\[pP](?:\{[^}]*\}|\w)")
_WILDCARD = re.compile(r"[*?\[{\\]")


# --- patterns -------------------------------------------------------------------------------------------------


def check_pattern_text(pattern: str) -> None:
    """Check that a pattern can be an argument of a program: valid UTF-8 without NUL.

    Raises InvalidPatternError.
    """
    try:
        is_passable = b"\0" not in pattern.encode()
    except UnicodeEncodeError:
        is_passable = False
    if not is_passable:
        raise InvalidPatternError(
            pattern, "the pattern contains a character that cannot occur in a text file"
        )


def compile_pattern(pattern: str, options: GrepOptions) -> re.Pattern[str]:
    """Compile a search pattern. Raises InvalidPatternError."""
    check_pattern_text(pattern)
    source = re.escape(pattern) if options.literal else pattern
    if not options.literal and (only := _RIPGREP_ONLY.search(pattern)):
        raise InvalidPatternError(
            pattern, f"{only[0]} works only with ripgrep, which is not installed on this machine"
        )
    flags = re.MULTILINE | (re.DOTALL if options.multiline else 0)
    flags |= re.IGNORECASE if options.case_insensitive else 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # Python warns about [[a]], which is valid here
            return re.compile(source, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidPatternError(pattern, str(error)) from error


def compile_glob(pattern: str) -> re.Pattern[str]:
    """Compile a glob to a regular expression for whole paths with `/`.

    Supports `*`, `?`, `[a-z]`, `{a,b}`, `\\x`, and `**` as a component.

    Raises:
        InvalidPatternError
    """
    try:
        return re.compile(_translate(pattern), re.DOTALL)
    except re.error as error:
        raise InvalidPatternError(pattern, str(error)) from error


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
            out.append(re.escape(char))
    if braces:
        raise InvalidPatternError(pattern, "a { has no }")
    return "".join(out)


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


@dataclass(frozen=True, slots=True)
class GlobPlan:
    """A glob in two parts: the absolute folder before its first wildcard, and the rest, matched below the
    folder.

    `name` is the last component of the glob, which matches file names; "" if the glob cannot be split at the
    last slash, for example because a brace contains the slash.
    """

    folder: str
    rest: re.Pattern[str]
    name: str


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
    if not is_below(folder, path):
        raise InvalidPatternError(
            pattern, f"the pattern leads out of {path}; give the folder to search as the path"
        )
    *folders, name = parts[literal:]
    is_separate = not any(char in part for part in folders for char in "{[\\")
    return GlobPlan(folder, compile_glob("/".join(parts[literal:])), name if is_separate else "")


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


def _one_filter(glob_filter: str) -> Callable[[str, str], bool]:
    negated = glob_filter.startswith("!")
    glob = glob_filter[negated:].removeprefix("./")
    regex, by_name = compile_glob(glob.removeprefix("/")), "/" not in glob

    def passes(one: str, other: str) -> bool:
        names = (posixpath.basename(one),) if by_name else (one, other)
        return any(map(regex.fullmatch, names)) != negated

    return passes


# --- files ----------------------------------------------------------------------------------------------------


class Tree(Protocol):
    """A file system to search.

    Paths are absolute. Must not raise: unreadable folders and files count as empty.
    """

    def entries(self, folder: str) -> Iterable[tuple[str, bool]]:
        """Return the names in `folder`, with False for regular files and True for folders; skip others."""
        ...

    def text(self, path: str) -> str:
        """Return the text of an ignore file."""
        ...


@dataclass(frozen=True, slots=True)
class _Rules:
    base: str
    spec: pathspec.GitIgnoreSpec

    def verdict(self, path: str, is_dir: bool) -> bool | None:
        below = path[len(self.base.rstrip("/")) + 1 :]
        return self.spec.check_file(below + "/" if is_dir else below).include


def walk(tree: Tree, top: str, root: str) -> Iterator[str]:
    """Yield files below the folder `top` that are not ignored, in path order.

    If `top` is below `root`, the ignore files of `root` and of the folders in between apply too. As in ripgrep,
    `top` itself is never ignored: an ignore file above `top` that excludes `top` is not applied.
    """
    outer = [_rules(tree, folder, tree.entries(folder)) for folder in folders_between(root, top)]
    known = [r for r in outer if r and not r.verdict(top, True)]
    yield from _walk(tree, top, known)


def _walk(tree: Tree, folder: str, known: list[_Rules]) -> Iterator[str]:
    entries = sorted(tree.entries(folder))
    own = _rules(tree, folder, entries)
    rules = [*known, own] if own else known
    for name, is_dir in entries:
        path = posixpath.join(folder, name)
        if name == NEVER_LISTED or _ignored(rules, path, is_dir):
            continue
        if is_dir:
            yield from _walk(tree, path, rules)
        else:
            yield path


def _ignored(rules: list[_Rules], path: str, is_dir: bool) -> bool:
    verdicts = (r.verdict(path, is_dir) for r in reversed(rules))
    return next((verdict for verdict in verdicts if verdict is not None), False)


def _rules(tree: Tree, folder: str, entries: Iterable[tuple[str, bool]]) -> _Rules | None:
    names = {name for name, is_dir in entries if not is_dir}
    texts = [tree.text(posixpath.join(folder, name)) for name in IGNORE_FILES if name in names]
    lines = [line for text in texts for line in text.splitlines() if _is_rule(line)]
    return _Rules(folder, _spec(lines)) if lines else None


def _spec(lines: list[str]) -> pathspec.GitIgnoreSpec:
    import pathspec  # imported here, because it is not needed if ripgrep is installed

    return pathspec.GitIgnoreSpec.from_lines(lines)


def _is_rule(line: str) -> bool:
    """Return whether a line of an ignore file is a rule.

    A line that does not parse is skipped, so that it does not stop a search.
    """
    try:
        return bool(_spec([line]).patterns)
    except ValueError:
        return False


def hidden_entries(
    texts: Mapping[str, Sequence[str]], top: str, entries: Iterable[tuple[str, bool]]
) -> set[str]:
    """Return those of `entries` that are ignored or in an ignored folder.

    `entries` are paths relative to the folder `top`, each with True for a folder. A folder precedes its
    contents. `texts` maps `top`, the folders above it (`folders_between`) and the folders below it to the texts
    of the ignore files of each folder, in the order of IGNORE_FILES.
    """
    made = {folder: _Rules(folder, _spec(lines)) for folder, lines in _rule_lines(texts)}
    rules = [r for base, r in made.items() if is_below(base, top) or not r.verdict(top, True)]
    hidden: set[str] = set()
    for name, is_dir in entries:
        path = posixpath.join(top, name)
        above = sorted((r for r in rules if is_below(path, r.base)), key=lambda r: len(r.base))
        if posixpath.dirname(name) in hidden or _ignored(above, path, is_dir):
            hidden.add(name)
    return hidden


def _rule_lines(texts: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, list[str]]]:
    for folder, its in texts.items():
        if lines := [line for text in its for line in text.splitlines() if _is_rule(line)]:
            yield folder, lines


def folders_between(root: str, top: str) -> list[str]:
    """Return `root` and the folders from `root` down to `top`, without `top`.

    The result is empty if `top` is not below `root`.
    """
    if not is_below(top, root) or top == root:
        return []
    folders = [posixpath.dirname(top)]
    while folders[-1] != root:
        folders.append(posixpath.dirname(folders[-1]))
    return folders[::-1]


def is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


_NOT_NORMAL = re.compile(r"(?:^|/)\.{0,2}(?:/|$)")  # an empty component, `.` or `..`


def shown_path(path: str, root: str) -> str:
    """Return `path` relative to `root` if it is below `root`, else unchanged."""
    if not is_below(path, root):
        return path
    below = path[len(root.rstrip("/")) + 1 :]
    # `relpath` normalizes, which takes too long for each of 100,000 files.
    return below if below and _NOT_NORMAL.search(below) is None else posixpath.relpath(path, root)


def path_order(path: str) -> tuple[str, ...]:
    """Return a sort key that compares paths by component, so that the files of a folder stay together."""
    return tuple(path.split("/"))


# --- lines ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class ResultLines:
    """Collects result lines in order, up to the limit of `options`."""

    options: GrepOptions
    lines: list[GrepLine] = field(default_factory=list)
    matches: int = 0
    is_full: bool = False

    def add(self, line: GrepLine) -> bool:
        """Add a line and return True.

        If the limit of matches is reached, do not add the line and return False.
        """
        if line.is_match and self.matches >= self.options.max_results:
            self.is_full = True
            return False
        self.matches += line.is_match
        self.lines.append(line)
        return True

    def result(self) -> GrepResult:
        kept = self.lines
        if self.is_full:
            last = next((i for i in reversed(range(len(kept))) if kept[i].is_match), -1)
            # Lines after the last match may be context of the next match, which exceeded the limit.
            kept = kept[: last + 1] + [
                line for line in kept[last + 1 :] if self._is_context_of(line, kept[last])
            ]
        return GrepResult(tuple(kept), truncated=self.is_full)

    def _is_context_of(self, line: GrepLine, match: GrepLine) -> bool:
        return line.path == match.path and line.line <= match.line + self.options.after_lines


def grep_text(shown: str, data: bytes, regex: re.Pattern[str], options: GrepOptions) -> list[GrepLine]:
    """Return the matching lines of one file with context, at most `max_results` + 1 matches.

    The result is empty for a binary file.
    """
    if looks_binary(data):
        return []
    readable = decode(data).text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    lines = [line.removesuffix("\r") for line in readable.split("\n")]
    if not lines[-1]:
        lines.pop()
    found = _across_lines(lines, regex) if options.multiline else _within_lines(lines, regex)
    starts = dict(islice(found, options.max_results + 1))
    wanted = {
        near
        for number in starts
        for near in range(number - options.before_lines, number + options.after_lines + 1)
        if 0 <= near < len(lines)
    }
    return [
        GrepLine(shown, number + 1, clip(lines[number], starts.get(number, 0)), number in starts)
        for number in sorted(wanted)
    ]


def _within_lines(lines: Sequence[str], regex: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Yield the index of each matching line, and the position of the first match in the line."""
    for number, line in enumerate(lines):
        if match := regex.search(line):
            yield number, match.start()


def _across_lines(lines: Sequence[str], regex: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Yield the index of each line that a match covers, and the position in the line where the match begins.

    A match may span lines. In the match's second and later lines, the position is 0.
    """
    begins = [0, *accumulate(len(line) + 1 for line in lines)]
    last = -1
    for match in regex.finditer("\n".join(lines)):
        first = bisect_right(begins, match.start()) - 1
        end = bisect_right(begins, max(match.start(), match.end() - 1)) - 1
        for number in range(max(first, last + 1), min(end, len(lines) - 1) + 1):
            yield number, max(0, match.start() - begins[number])
        last = max(last, end)


def clip(line: str, start: int) -> str:
    """Truncate a line of more than MAX_LINE_CHARS characters around its match at `start`; `…` marks removed text."""
    if len(line) <= MAX_LINE_CHARS:
        return line
    first = max(0, min(start - MAX_LINE_CHARS // 4, len(line) - MAX_LINE_CHARS))
    last = first + MAX_LINE_CHARS
    return ("…" if first else "") + line[first:last] + ("…" if last < len(line) else "")
