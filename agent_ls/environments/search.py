"""Pure: decide which files an ignore file excludes, and which lines match a pattern.

The environment in memory.py searches only with these functions. The local environment uses ripgrep and a part
of the functions, or all functions if ripgrep is not installed. The functions give the same results as
ripgrep.
"""

from __future__ import annotations

import posixpath
import re
import warnings
from bisect import bisect_right
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from itertools import accumulate, islice, pairwise
from typing import TYPE_CHECKING, Any, Protocol

from agent_ls.environments.base import READ_LIMIT_BYTES, GrepLine, GrepOptions, GrepResult
from agent_ls.environments.errors import InvalidPatternError
from agent_ls.environments.ignore_rules import rule_for_pathspec
from agent_ls.paths import is_within
from agent_ls.patterns import regex
from agent_ls.text import decode, looks_binary, split_lines, strip_endings

if TYPE_CHECKING:
    import pathspec

MAX_LINE_CHARS = 2_000  # one long line of minified code could fill a model's context
IGNORE_FILES = (".gitignore", ".ignore", ".rgignore")  # later ones take precedence, as in ripgrep
NEVER_LISTED = ".git"
EXCLUDE_FILE = ".git/info/exclude"
"""The ignore file of one clone, in its root. Any other ignore file takes precedence."""
SEARCH_LIMIT_BYTES = READ_LIMIT_BYTES
"""Files larger than this are not searched, because `read_bytes` refuses them too."""

_RIPGREP_ONLY = regex(r"\[:\^?[a-z]+:\]|\\[pP](?:\{[^}]*\}|\w)")


# Finds `\n` or `\r\n` in a pattern that can match several lines, because files may have either kind of line ending.
# Group 1 matches brackets and other escapes, which stay unchanged.
_LINE_END = regex(r"(?:\\r\??|\r)?(?:\\n|\n)|(\[(?:\\.|[^\]\\])*\]|\\.)", re.DOTALL)
# The parts of a pattern that matter for flags in its middle: group 1 has the flags, group 2 a bracket or a bar.
_FLAGS = regex(r"\[\^?\]?(?:\\.|[^\]\\])*\]|\\.|\(\?([imsx]*-?[imsx]+)\)|([()|])|[^\\\[()|]+|.", re.DOTALL)
_OPEN_CLASS = r"\[[!^]?\]?[^]\n]*"
_MISREAD = regex(
    rf"\A\ufeff|(?<!\\)(?:\\\\)*(?:\\ {{2,}}|\\\\ +)\r?$|{_OPEN_CLASS}(?:[\\/]|\[:)[^\n]*\]"
    r"|\[(?P<one>.)-(?!(?P=one))[^]]\]|^(?:!/*|/+) *\r?$",
    re.MULTILINE,
)
# A rule that ends with white space other than blanks, such as a tab or, as in `Icon\r`, a second carriage return.
_WHITE_AT_END = regex(r"^(?!#)[^\n]*(?<=\S)(?! *\r?$)[^\S\n]+$", re.MULTILINE)
_SEVERAL_PARTS = regex(r"^[^#\n]*[^\n/]/[^\n/ ]", re.MULTILINE)
_SHOWN_AGAIN = regex(r"^!/?([^\n/]+/[^\n ][^\n]*)", re.MULTILINE)
_ESCAPED_CLASS = regex(rf"{_OPEN_CLASS}[\\/][^\n]*\]")
_NEGATED_WITHIN = regex(r"[^\n/]\[[!^]\]?[^]\n]*\][^\n/ ]")  # ripgrep lets such a class match a slash
# A class in a rule that pathspec has translated; group 1 is one that matches all but some characters.
_TRANSLATED_CLASS = regex(r"\\.|(\[\^(?!/\])\]?[^]]*\])|\[\]?[^]]*\]", re.DOTALL)
_BELOW = regex(r"/\*\*(/?) *$")
# Finds what Python spells in another way than ripgrep. Group 1 matches brackets and other escapes, as above.
_OTHER_SPELLING = regex(r"(\[(?:\\.|[^\]\\])*\]|\\[^<>k])|\\k<(\w+)>|(\\[<>]|\(\?<(?=[A-Za-z_]))", re.DOTALL)
_IN_PYTHON = {r"\<": r"\b(?=\w)", r"\>": r"\b(?<=\w)", "(?<": "(?P<"}
_LOOKS_AROUND = regex(r"\(\?<?[=!]|\\[1-9]|\\k<|\(\?P=")


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


def replace_line_ends(pattern: str, by: str) -> str:
    """Return a pattern over several lines with `by` for each line end in it."""
    return _LINE_END.sub(lambda found: found[1] or by, pattern)


def looks_around(pattern: str, options: GrepOptions) -> bool:
    """Return whether a pattern has look-around or a back reference, which most builds of ripgrep refuse."""
    return not options.literal and _LOOKS_AROUND.search(pattern) is not None


def _in_python(pattern: str) -> str:
    pattern = _with_scoped_flags(pattern)
    return _OTHER_SPELLING.sub(
        lambda found: found[1] or (f"(?P={found[2]})" if found[2] else _IN_PYTHON[found[3]]), pattern
    )


def _with_scoped_flags(pattern: str) -> str:
    """Write flags that hold for the rest of a group, as `(?i)` in `a(?i)b|c`, with groups: `a(?i:b)|(?i:c)`.

    Python knows such flags only at the begin.
    """
    parts = [*_FLAGS.finditer(pattern)]
    if all(it[1] is None or (it.start() == 0 and "-" not in it[1]) for it in parts):
        return pattern
    out: list[str] = []
    flags: list[list[str]] = [[]]  # of each open group, the flags that hold in it
    for part in parts:
        ends, begins = ")" * len(flags[-1]), "".join(f"(?{it}:" for it in flags[-1])
        if part[1] is not None:
            flags[-1].append(part[1])
            out.append(f"(?{part[1]}:")
        elif part[2] == "(":
            flags.append([])
            out.append("(")
        elif part[2] == ")" and len(flags) > 1:
            flags.pop()
            out.append(f"{ends})")
        else:
            out.append(f"{ends}|{begins}" if part[2] == "|" else part[0])
    return "".join(out) + ")" * len(flags[0])


def compile_pattern(pattern: str, options: GrepOptions) -> re.Pattern[str]:
    """Compile a search pattern. Raises InvalidPatternError."""
    check_pattern_text(pattern)
    plain = pattern.replace("\r\n", "\n") if options.multiline else pattern
    source = re.escape(plain) if options.literal else _in_python(pattern)
    if options.multiline and not options.literal:
        source = replace_line_ends(source, r"\n")  # the lines are searched without the CR of their ends
    if not options.literal and (only := _RIPGREP_ONLY.search(pattern)):
        raise InvalidPatternError(
            pattern, f"{only[0]} works only with ripgrep, and there without look-around and backreferences"
        )
    flags = re.MULTILINE | (re.DOTALL if options.multiline else 0)
    flags |= re.IGNORECASE if options.case_insensitive else 0
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", FutureWarning)  # Python warns about [[a]], which is valid here
            return re.compile(source, flags)
    except (re.error, OverflowError, RecursionError) as error:
        raise InvalidPatternError(pattern, str(error)) from error


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

    def user_rules(self) -> str:
        """Return the path of the user's ignore file for all repositories, "" if there is none."""
        ...


@dataclass(frozen=True, slots=True)
class _Rules:
    base: str
    spec: pathspec.GitIgnoreSpec

    def is_hidden(self, path: str, is_dir: bool) -> bool | None:
        """Return whether the last rule that names exactly this path hides it; None if no rule names it.

        The folders above are judged one by one, as in git. `check_file` judges all at once, and so prefers `*` to a
        later `!*/`.
        """
        below = path[len(self.base.rstrip("/")) + 1 :]
        if not below:
            return None
        name = below + "/" if is_dir else below
        if self.spec.check_file(name).include is None:  # most paths
            return None
        rules = reversed(list(self.spec.patterns))
        return next((rule.include for rule in rules if rule.include is not None and _names(rule, name)), None)


def _names(rule: pathspec.Pattern, name: str) -> bool:
    """Return whether a rule names this path itself, not only a folder above it: such a match ends at a slash within."""
    regex = getattr(rule, "regex", None)
    if regex is None:
        return False
    if "ps_d" not in regex.groupindex:
        return regex.search(name) is not None
    return any(found.end("ps_d") in (-1, len(name)) for found in regex.finditer(name))


def walk(tree: Tree, top: str, root: str) -> Iterator[str]:
    """Yield files below the folder `top` that are not ignored, in path order.

    If `top` is below `root`, the ignore files of `root` and of the folders in between apply too. As in ripgrep,
    `top` itself is never ignored: an ignore file above `top` that excludes `top` is not applied.
    """
    between = folders_between(root, top)
    clone = _rules_of_clone(tree, root) if between or top == root else None
    users = _rules_of_user(tree, root if is_within(top, root) else top)
    outer = [users, clone, *(_rules(tree, folder, tree.entries(folder)) for folder in between)]
    known = [r for r in outer if r and (top == root or not r.is_hidden(top, True))]
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


def is_hidden_folder(tree: Tree, root: str, folder: str) -> bool:
    """Return whether the ignore files from `root` down hide `folder` or a folder between them."""
    rules: list[_Rules] = []
    for above, step in pairwise([*folders_between(root, folder), folder]):
        own = _rules(tree, above, tree.entries(above))
        rules += [own] if own else []
        if _ignored(rules, step, True):
            return True
    return False


def _ignored(rules: list[_Rules], path: str, is_dir: bool, *, default: bool = False) -> bool:
    outcomes = (r.is_hidden(path, is_dir) for r in reversed(rules))
    return next((hidden for hidden in outcomes if hidden is not None), default)


def _rules(tree: Tree, folder: str, entries: Iterable[tuple[str, bool]]) -> _Rules | None:
    names = {name for name, is_dir in entries if not is_dir}
    return _read_rules(tree, folder, [name for name in IGNORE_FILES if name in names])


def _rules_of_clone(tree: Tree, root: str) -> _Rules | None:
    folder, name = posixpath.split(posixpath.join(root, EXCLUDE_FILE))
    is_there = (NEVER_LISTED, True) in tree.entries(root) and (name, False) in tree.entries(folder)
    return _read_rules(tree, root, [EXCLUDE_FILE]) if is_there else None


def _rules_of_user(tree: Tree, folder: str) -> _Rules | None:
    lines = list(_lines_of(tree.text(path))) if (path := tree.user_rules()) else []
    return _Rules(folder, _spec(lines)) if lines else None


def _read_rules(tree: Tree, folder: str, names: Iterable[str]) -> _Rules | None:
    lines = [line for name in names for line in _lines_of(tree.text(posixpath.join(folder, name)))]
    return _Rules(folder, _spec(lines)) if lines else None


def _lines_of(text: str) -> Iterator[str]:
    """Yield the rules in an ignore file, which may begin with a byte order mark."""
    lines = (line.removesuffix("\r") for line in text.removeprefix("\ufeff").split("\n"))
    return filter(_is_rule, map(rule_for_pathspec, lines))


def _spec(lines: list[str]) -> pathspec.GitIgnoreSpec:
    import pathspec  # imported here, because it is not needed if ripgrep is installed

    spec = pathspec.GitIgnoreSpec.from_lines(map(_without_own_folder, lines))
    has_negated = any("[!" in line for line in lines)
    return pathspec.GitIgnoreSpec(map(_within_names, spec.patterns)) if has_negated else spec


def _within_names(rule: Any) -> Any:
    """Return a rule of pathspec whose negated classes match no slash, as in git."""
    if rule.regex is None:
        return rule
    within = _TRANSLATED_CLASS.sub(
        lambda found: f"(?!/){found[0]}" if found[1] else found[0], rule.regex.pattern
    )
    return type(rule)(re.compile(within), rule.include)


def _without_own_folder(line: str) -> str:
    """Write `a/**` as `a/**/*`, and `a/**/` as `a/**/*/`: they name what is below `a`. pathspec also matches `a`."""
    return _BELOW.sub(r"/**/*\1", line)


def _is_rule(line: str) -> bool:
    """Return whether a line of an ignore file is a rule.

    A line that does not parse is skipped, so that it does not stop a search.
    """
    try:
        return bool(_spec([line]).patterns)
    except (ValueError, re.error):
        return False


def hides_too_much(rules: str, below: Sequence[str]) -> bool:
    """Return whether ripgrep may not find files because it misreads an ignore file, in a search of a folder below it.

    `below` has the names of the folders down to the searched one. ripgrep reads each character of a class as a member,
    also an escape, lets a negated class match a slash, leaves white space out at the end of a rule, and may not see a
    rule with several parts that shows files again.
    """
    again = (found[1].split("/") for found in _SHOWN_AGAIN.finditer(rules)) if below else ()
    misread = (_ESCAPED_CLASS, _NEGATED_WITHIN, _WHITE_AT_END)
    return any(it.search(rules) for it in misread) or any(_may_concern(parts, below) for parts in again)


def _may_concern(parts: Sequence[str], below: Sequence[str]) -> bool:
    """Return whether a rule may name something in the folder with these names, or below it."""
    for part, name in zip(parts, below, strict=False):
        if part == "**":
            return True
        if not fnmatchcase(name, part) and "\\" not in part:
            return False
    return True


@dataclass(slots=True)
class MisreadRules:
    """The ignore files in `root` and below that ripgrep misreads in a search of the folder `searched`.

    ripgrep does not know the first rule behind a byte order mark, no escape before blanks and no other white space at
    the end, and no escapes and names in classes. A `!` alone shows all files again. It compares rules of several parts
    from folders above `searched` with a wrong path.
    """

    tree: Tree
    root: str
    searched: str
    _rules: dict[str, tuple[_Rules, ...]] = field(default_factory=dict)
    _hidden: dict[str, bool] = field(default_factory=dict)

    def is_hidden(self, path: str) -> bool:
        """Return whether such a file, with the ignore files below it, hides a file. Quick without such files."""
        folder = path[: path.rfind("/")] or "/"
        rules = self._rules[folder] if folder in self._rules else self._rules_of(folder)
        return bool(rules) and (self._is_hidden_folder(folder) or _ignored([*rules], path, False))

    def has_any(self, folders: Iterable[str]) -> bool:
        """Return whether such a file may hide something in one of these folders."""
        return any(self._rules_of(folder) for folder in folders)

    def _rules_of(self, folder: str) -> tuple[_Rules, ...]:
        if folder not in self._rules and not is_within(folder, self.root, "/"):
            self._rules[folder] = ()
        if folder not in self._rules:
            outer = self._rules_of(posixpath.dirname(folder)) if folder != self.root else ()
            of_git = [*([EXCLUDE_FILE] if folder == self.root else []), IGNORE_FILES[0]]
            counts = bool(outer) or any(self._is_misread(folder, name) for name in of_git)
            own = _read_rules(self.tree, folder, [*of_git, *IGNORE_FILES[1:]]) if counts else None
            self._rules[folder] = (*outer, own) if own else outer
        return self._rules[folder]

    def _is_misread(self, folder: str, name: str) -> bool:
        text = self.tree.text(posixpath.join(folder, name))
        is_above = folder != self.searched and is_within(self.searched, folder, "/")
        return bool(
            _MISREAD.search(text) or _WHITE_AT_END.search(text) or (is_above and _SEVERAL_PARTS.search(text))
        )

    def _is_hidden_folder(self, folder: str) -> bool:
        if folder == self.root or not is_within(folder, self.root, "/"):
            return False
        if folder not in self._hidden:
            above = posixpath.dirname(folder)
            rules = [*self._rules_of(above)]
            self._hidden[folder] = self._is_hidden_folder(above) or _ignored(rules, folder, True)
        return self._hidden[folder]


def not_excluded(tree: Tree, files: Iterable[str], root: str) -> Iterator[str]:
    """Yield those of `files` that only .gitignore may exclude: no `.ignore` and no `.rgignore` in `root` or below does.

    For files that git tracks: its own ignore files do not apply to them, and those of search programs do.
    """
    known: dict[str, _Rules | None] = {}
    for file in files:
        rules: list[_Rules] = []
        for folder in folders_between(root, file):
            if rules and folder != root and _ignored(rules, folder, True):
                break
            if folder not in known:
                texts = (tree.text(posixpath.join(folder, name)) for name in IGNORE_FILES[1:])
                lines = [line for text in texts for line in _lines_of(text)]
                known[folder] = _Rules(folder, _spec(lines)) if lines else None
            if own := known[folder]:
                rules.append(own)
        else:
            if not _ignored(rules, file, False):
                yield file


def hidden_above(
    tree: Tree, folder: str, root: str, top: str, entries: Sequence[tuple[str, bool]]
) -> set[str]:
    """Return those of `entries` that the user's ignore file hides, or one from the folder `top` down to `root`, which
    is not read itself.

    `entries` are paths relative to `folder`, each with True for a folder. `folder` itself is not ignored.
    """
    between = folders_between(top, root)
    outer = [_rules_of_user(tree, top), _rules_of_clone(tree, top) if between else None]
    outer += [_rules(tree, above, tree.entries(above)) for above in between]
    rules = [it for it in outer if it and not it.is_hidden(folder, True)]
    named = ((name, posixpath.join(folder, name), is_dir) for name, is_dir in entries)
    return {name for name, path, is_dir in named if rules and _ignored(rules, path, is_dir)}


def hidden_entries(
    texts: Mapping[str, Sequence[str]],
    top: str,
    entries: Iterable[tuple[str, bool]],
    above: Collection[str] = (),
) -> set[str]:
    """Return those of `entries` that are ignored or in an ignored folder; those of `above` if no rule shows them.

    `entries` are paths relative to the folder `top`, each with True for a folder. A folder precedes its
    contents. `texts` maps `top`, the folders above it (`folders_between`) and the folders below it to the texts
    of the ignore files of each folder, in the order of IGNORE_FILES.
    """
    made = {folder: _Rules(folder, _spec(lines)) for folder, lines in _rule_lines(texts)}
    rules = [r for base, r in made.items() if is_within(base, top, "/") or not r.is_hidden(top, True)]
    hidden: set[str] = set()
    for name, is_dir in entries:
        path = posixpath.join(top, name)
        its = sorted((r for r in rules if is_within(path, r.base, "/")), key=lambda r: len(r.base))
        if posixpath.dirname(name) in hidden or _ignored(its, path, is_dir, default=name in above):
            hidden.add(name)
    return hidden


def _rule_lines(texts: Mapping[str, Sequence[str]]) -> Iterator[tuple[str, list[str]]]:
    for folder, its in texts.items():
        if lines := [line for text in its for line in _lines_of(text)]:
            yield folder, lines


def folders_between(root: str, top: str) -> list[str]:
    """Return `root` and the folders from `root` down to `top`, without `top`.

    The result is empty if `top` is not below `root`.
    """
    if not is_within(top, root, "/") or top == root:
        return []
    folders = [posixpath.dirname(top)]
    while folders[-1] != root:
        folders.append(posixpath.dirname(folders[-1]))
    return folders[::-1]


_NOT_NORMAL = regex(r"(?:^|/)\.{0,2}(?:/|$)")  # an empty component, `.` or `..`


def shown_path(path: str, root: str) -> str:
    """Return `path` relative to `root` if it is below `root`, else unchanged."""
    if not is_within(path, root, "/"):
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


def merge_lines(lines: Iterable[GrepLine], options: GrepOptions, *, is_full: bool) -> GrepResult:
    """Return the lines in order, up to the limit of `options`. `is_full`: they are not all that there are."""
    findings = ResultLines(options, is_full=is_full)
    all(map(findings.add, sorted(lines, key=lambda line: (path_order(line.path), line.line))))
    return findings.result()


def grep_text(shown: str, data: bytes, regex: re.Pattern[str], options: GrepOptions) -> list[GrepLine]:
    """Return the matching lines of one file with context, at most `max_results` + 1 matches.

    The result is empty for a binary file.
    """
    if looks_binary(data):
        return []
    readable = decode(data).text.encode("utf-8", "surrogateescape").decode("utf-8", "replace")
    lines = strip_endings(split_lines(readable))
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
