"""Which files a glob or an ignore file means, and which lines a pattern finds: pure rules, no disk, no ripgrep.

`memory` is searched by these alone; `local` uses the glob and result rules with ripgrep, and all of them when
there is no ripgrep. Where the two could differ, ripgrep's behaviour is the model.
"""

from __future__ import annotations

import posixpath
import re
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol

from agent_ls.environments.base import READ_LIMIT_BYTES, GrepLine, GrepOptions, GrepResult
from agent_ls.environments.errors import InvalidPatternError
from agent_ls.text import decode, looks_binary

if TYPE_CHECKING:
    import pathspec

MAX_LINE_CHARS = 2_000  # a line of minified code would fill a model's context alone
IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")  # later ones win, as in ripgrep
NEVER_LISTED = ".git"
SEARCH_LIMIT_BYTES = READ_LIMIT_BYTES
"""Larger files are not searched: nobody could read what was found."""

_NEXT_EXCLUDED = re.compile(r"\s+(?=!)")
_WILDCARD = re.compile(r"[*?\[{\\]")


# --- patterns -------------------------------------------------------------------------------------------------


def demand_passable(pattern: str) -> None:
    """Refuses what cannot be an argument of a program, with or without one. Raises InvalidPatternError."""
    try:
        is_passable = b"\0" not in pattern.encode()
    except UnicodeEncodeError:
        is_passable = False
    if not is_passable:
        raise InvalidPatternError(pattern, "it holds a character that no text file can hold")


def compile_pattern(pattern: str, options: GrepOptions) -> re.Pattern[str]:
    """Raises InvalidPatternError."""
    demand_passable(pattern)
    source = re.escape(pattern) if options.literal else pattern
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # [[:alpha:]] means something else in Python
            return re.compile(source, re.IGNORECASE if options.case_insensitive else 0)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidPatternError(pattern, str(error)) from error


def compile_glob(pattern: str) -> re.Pattern[str]:
    """A regex for whole paths with `/`: `*`, `?`, `[a-z]`, `{a,b}`, `\\x`, and `**` as a component.

    Raises:
        InvalidPatternError
    """
    try:
        return re.compile(_translate(pattern), re.DOTALL)
    except re.error as error:
        raise InvalidPatternError(pattern, str(error)) from error


def _translate(pattern: str) -> str:
    out: list[str] = []
    braces = 0
    i = 0
    while i < len(pattern):
        char, starts_component = pattern[i], i == 0 or pattern[i - 1] in "/{,"
        i += 1
        if starts_component and pattern.startswith("**/", i - 1):
            out.append("(?:[^/]+/)*")
            i += 2
        elif char == "*":
            end = i + len(pattern[i:]) - len(pattern[i:].lstrip("*"))
            crosses = starts_component and end - i == 1 and (end == len(pattern) or pattern[end] in ",}")
            out.append(".+" if crosses else "[^/]*")
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


def _class_end(pattern: str, start: int) -> int:
    first = start + (pattern[start : start + 1] in ("!", "^"))
    end = pattern.find("]", first + 1)  # a ] in first place stands for itself
    if end < 0:
        raise InvalidPatternError(pattern, "a [ has no ]")
    return end


def _character_class(body: str) -> str:
    negated = body[0] in "!^"
    escaped = re.sub(r"([\\\[\]^&|~])", r"\\\1", body[negated:])
    return f"(?!/)[^{escaped}]" if negated else f"(?!/)[{escaped}]"


@dataclass(frozen=True, slots=True)
class GlobPlan:
    """A glob split into the folder that its literal start names and the rest, to be matched below it."""

    folder: str
    rest: re.Pattern[str]


def plan_glob(pattern: str, path: str) -> GlobPlan:
    """`pattern` below the absolute folder `path`; an absolute pattern must name something below it too.

    Raises:
        InvalidPatternError: also for a pattern that can match no file, or that leaves `path`: a policy has
            judged the path, not the pattern.
    """
    if not pattern:
        raise InvalidPatternError(pattern, "it is empty; ** finds all files")
    if pattern.endswith("/"):
        raise InvalidPatternError(pattern, "it names a folder; add ** to find the files below it")
    parts = pattern.split("/")
    literal = next((i for i, part in enumerate(parts) if _WILDCARD.search(part)), len(parts) - 1)
    prefix = "/".join(parts[:literal]) or ("/" if pattern.startswith("/") else "")
    folder = posixpath.normpath(posixpath.join(path, prefix))
    if not is_below(folder, path):
        raise InvalidPatternError(pattern, f"it leaves {path}; give the folder to search as the path")
    return GlobPlan(folder, compile_glob("/".join(parts[literal:])))


def path_filter(glob_filter: str) -> Callable[[str, str], bool]:
    """A test of two spellings of one path: true when one of them passes `glob_filter`.

    Without a slash the glob is for the file's name, with one for the whole path; a leading `!` excludes, also behind
    another glob (`*.js !*.min.js`). Raises InvalidPatternError.
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
    """What a walk needs of a file system. Paths are absolute. Neither may raise: what cannot be read is empty."""

    def entries(self, folder: str) -> Iterable[tuple[str, bool]]:
        """Names of regular files (False) and folders (True); links and others are left out."""
        ...

    def text(self, path: str) -> str:
        """An ignore file's text."""
        ...


@dataclass(frozen=True, slots=True)
class _Rules:
    base: str
    spec: pathspec.GitIgnoreSpec

    def verdict(self, path: str, is_dir: bool) -> bool | None:
        below = path[len(self.base.rstrip("/")) + 1 :]
        return self.spec.check_file(below + "/" if is_dir else below).include


def walk(tree: Tree, top: str, root: str) -> Iterator[str]:
    """Files below the folder `top` that are not ignored, in path order.

    Ignore files count from `root` down when `top` lies below it. What a caller names is never ignored itself:
    rules that would hide `top` are left out, as in ripgrep.
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
    import pathspec  # where ripgrep is, nobody needs it

    return pathspec.GitIgnoreSpec.from_lines(lines)


def _is_rule(line: str) -> bool:
    """False also for a line that does not parse: one bad rule of the user's must not stop a search."""
    try:
        return bool(_spec([line]).patterns)
    except ValueError:
        return False


def hidden_entries(
    texts: Mapping[str, Sequence[str]], top: str, entries: Iterable[tuple[str, bool]]
) -> set[str]:
    """Which entries of the folder `top` are ignored, or lie in a folder that is: relative names, True for folders.

    Folders stand before what they hold. `texts` has those of the ignore files of a folder, in the order of
    IGNORE_FILES, for `top`, the folders above it (`folders_between`) and those in it.
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
    """`root` and the folders down to, but without, `top`; none when `top` lies elsewhere."""
    if not is_below(top, root) or top == root:
        return []
    folders = [posixpath.dirname(top)]
    while folders[-1] != root:
        folders.append(posixpath.dirname(folders[-1]))
    return folders[::-1]


def is_below(path: str, folder: str) -> bool:
    return path == folder or path.startswith(folder.rstrip("/") + "/")


def shown_path(path: str, root: str) -> str:
    """Relative to `root` where `path` lies below it, else as it is."""
    return posixpath.relpath(path, root) if is_below(path, root) else path


def path_order(path: str) -> tuple[str, ...]:
    """Sort key: by component, so that a folder's files stay together."""
    return tuple(path.split("/"))


# --- lines ----------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Findings:
    """Collects lines in order, up to the limit of `options`."""

    options: GrepOptions
    lines: list[GrepLine] = field(default_factory=list)
    matches: int = 0
    is_full: bool = False

    def add(self, line: GrepLine) -> bool:
        """False: enough. The line was one match too many and is not kept."""
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
            # What follows the last match may be the context before the one that was not kept.
            kept = kept[: last + 1] + [line for line in kept[last + 1 :] if self._belongs(line, kept[last])]
        return GrepResult(tuple(kept), truncated=self.is_full)

    def _belongs(self, line: GrepLine, match: GrepLine) -> bool:
        return line.path == match.path and line.line <= match.line + self.options.after_lines


def grep_text(shown: str, data: bytes, regex: re.Pattern[str], options: GrepOptions) -> list[GrepLine]:
    """Matching lines of one file and their context; none for a binary one. At most max_results + 1 matches."""
    if looks_binary(data):
        return []
    readable = decode(data).text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    lines = [line.removesuffix("\r") for line in readable.split("\n")]
    if not lines[-1]:
        lines.pop()
    starts: dict[int, int] = {}
    for number, line in enumerate(lines):
        if match := regex.search(line):
            starts[number] = match.start()
            if len(starts) > options.max_results:
                break
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


def clip(line: str, start: int) -> str:
    """A line of more than MAX_LINE_CHARS characters is cut around its match at `start`; `…` stands for what is cut."""
    if len(line) <= MAX_LINE_CHARS:
        return line
    first = max(0, min(start - MAX_LINE_CHARS // 4, len(line) - MAX_LINE_CHARS))
    last = first + MAX_LINE_CHARS
    return ("…" if first else "") + line[first:last] + ("…" if last < len(line) else "")
