"""Pure: evaluate one word of a command line as the shell would.

The result is a text, a pattern for file names, or an unknown word.
"""

from __future__ import annotations

import glob
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from math import prod
from typing import Literal, TypeAlias

from tree_sitter import Node

from agent_ls.patterns import regex
from agent_ls.policy.shell.grammar import source_of
from agent_ls.policy.shell.numbers import COUNT, is_sum

WordKind: TypeAlias = Literal["text", "glob", "unknown"]

_SYMBOLS = (
    r"\u00a7\u00a9\u00ae\u00b0\u00b1\u00d7\u00f7\u2022\u2026\u20a0-\u20bf\u2122\u2190-\u21ff\u25a0-\u25ff\u2600-\u274c"
    r"\u274e-\u275a\u2776-\u27bf\ufe0f\u200d\U0001f1e6-\U0001f1ff\U0001f300-\U0001faff"
)
"""Symbols that look like no character of the shell. Those that hide text are refused before."""
_BARE = regex(rf"(?:[\w@%+=:,./^~!\]*?\[#{_SYMBOLS}-]|\\[^\n])+")
_ESCAPED = regex(r"\\(.)", re.DOTALL)
_ESCAPED_IN_QUOTES = regex(r'\\(["\\$`])')
_GLOB = regex(r"(?<!\\)(?:\\\\)*[*?\[]")
_SET = regex(r"\[[!^]?[^\[\]/\\]+\]")
_OTHER_TILDE = regex(r"~(?!/|\Z)")
_PLAIN_EXPANSION = regex(r"\$\{(?:[A-Za-z_]\w*|[1-9])\}")
_HARMLESS_EXPANSION = regex(
    r"\$\{(?:#[A-Za-z_]\w*(?:\[@\])?|[A-Za-z_]\w*\[(?:-?\d+|[@*])\](?::\d+(?::\d+)?)?"
    r"|(?:[A-Za-z_]\w*|[1-9])(?::?[-+?][\w ./:@,+=-]*"
    r"|(?:##?|%%?)(?:[\w./*?:@, _=+-]|\[\w-]+\])+|:\d+(?::\d+)?"
    r"|//?[#%]?(?:[\w .:@,*?_-]|\\[./\\]|\[[\w-]+\])+(?:/(?:[\w .:@,=_-]*|\$'\\[nt]'))?|\^\^?|,,?))\}"
)
"""Matches a length, an item, a default, a value without its beginning or end, a part of a value, and a changed value:
they set nothing."""
_EXIT_CODE = regex(r"\$\{PIPESTATUS\[\d\]\}")
_SEPARATOR = regex(r"\$'(?:\\[tnr]|[ ,;:|])+'")
_ESCAPES = {"\\t": "\t", "\\n": "\n", "\\r": "\r"}
_COMMIT = regex(
    r"\$\(git (?:(?:merge-base|rev-list|log(?: -\d{1,3})? --(?:format|pretty)=(?:%[hH]|'%[hH]'|\"%[hH]\"))"
    r"(?: -(?:n ?)?\d{1,3}| --max-count=\d{1,3}| --no-merges| --reverse)*(?: (?!-)[\w./@~^-]+)*"
    r"(?: --(?: (?!-)[\w./@-]+)+)?|rev-parse(?: --short| --verify)* (?:HEAD|@)(?:[~^]\d*)*)(?: 2>/dev/null)?\)"
)
"""A command of git that prints only ids of commits. None of them can be an option, or an object that is a file."""
_OF_REVISION = regex(r"[\w./@~^]+")
_SEQUENCE = regex(
    r"\$\(seq (?:(?P<from>[1-9]\d{0,5}) )?(?P<to>[1-9]\d{0,5})\)"
    r"|\{(?P<first>0|[1-9]\d{0,5})\.\.(?P<last>[1-9]\d{0,5})\}"
)
MAX_NUMBERS = 50
_SUM = regex(r"\$\(\( *(0|[1-9]\d{0,8}) *([-+*]) *(0|[1-9]\d{0,8}) *\)\)")
_ARRAY = regex(r'"\$\{([A-Za-z_]\w*)\[@\](:\d+(?::\d+)?)?\}"')
_KEYS = regex(r'"\$\{!([A-Za-z_]\w*)\[@\]\}"')
_ITEM = regex(r"\$\{([A-Za-z_]\w*)\[(-?\d+|\$[A-Za-z_]\w*)\]\}")
_BRACES = regex(r"\{([\w./-]*(?:,[\w./-]*)+)\}")
_PLAIN_BRACES = regex(r"(?!~|\{\w+\}\Z)(?:[\w./@%:^-]|(?<=[\w^}])~|\{[\w-]*\})+")
"""Matches braces without a comma, which are ordinary text, as in `stash@{0}`, `HEAD^{tree}` and `-I{}`.

A whole word such as `{fd}` names a variable that the shell sets to a number if a redirection follows.
"""
_SPLIT_OR_MATCHED = regex(r"[\s*?\[\\]|\A\Z")
_NEVER_SPLIT = regex(r"[\s\\\[]")
"""Parts of a pattern that, if it matches no file, is another pattern or several when the shell expands it again."""
NUMBER = "\0"
"""In place of a number. The shell may put nothing there: where a variable is not set, or the count has failed."""
NUMBERS = frozenset("?$#!")
"""Special parameters whose value is a number."""
USUAL = frozenset(
    "PATH HOME USER SHELL PWD VIRTUAL_ENV GOPATH JAVA_HOME LANG TERM LOGNAME HOSTNAME OSTYPE RANDOM SECONDS UID EUID "
    "PPID SHLVL BASH_VERSION ZSH_VERSION NVM_DIR CARGO_HOME RUSTUP_HOME GOROOT CONDA_PREFIX CONDA_DEFAULT_ENV 0".split()
)
"""Variables whose values are assumed to have no blanks and no wildcards, so that `$NAME` is one word.

The values come from the user's environment. A line that sets one of these variables is never read-only.
"""


@dataclass(frozen=True, slots=True)
class Word:
    """An evaluated word.

    `text` is its value, a pattern in the syntax of `glob`, or the source of an unknown word.

    `is_single`: the shell expands it to exactly one word. `problem`: an expansion in the word that the shell
    may evaluate as code, "" for none. `is_split`: the shell splits the file names that the pattern matches
    at blanks, and takes a wildcard in them for a pattern. `listing`: the pipeline whose output the shell splits into
    words, or whose lines are the values of the word.

    `entry_of`: the folder of which the word is the name of an entry, or several names in lines. `is_filled`: the
    variable is not empty.

    `is_commit`: the word is the id of a commit, which git prints, perhaps in an expression of revisions.

    `number`: the word with NUMBER in place of what the line computes; "" if it has other unknown parts. `items`: the
    words of an array.
    """

    kind: WordKind
    text: str
    source: str = ""
    is_single: bool = True
    problem: str = ""
    is_split: bool = False
    listing: tuple[tuple[str, ...], ...] = ()
    is_commit: bool = False
    entry_of: str = ""
    is_filled: bool = False
    number: str = ""
    items: tuple[Word, ...] = ()

    def with_number(self, value: str) -> str:
        """Return the text if each number has this value, such as `1p` for `${n}p`; "" if it has other unknown parts."""
        return self.number.replace(NUMBER, value)


def prints_commits(argv: Sequence[str]) -> bool:
    """Return whether a command is git, and prints only ids of commits."""
    line = " ".join(argv)
    return line.count(" ") == len(argv) - 1 and _COMMIT.fullmatch(f"$({line})") is not None


def word_of(node: Node, values: Mapping[str, Word]) -> Word:
    """Evaluate a word, or the value of an array. `values` are the variables with a known value; others are unknown."""
    if node.type == "array":
        return _array(node, values)
    return _joined(list(_parts(node, values)), source_of(node))


def _array(node: Node, values: Mapping[str, Word]) -> Word:
    items = [word for child in node.named_children for word in words_of(child, values)]
    # older shells take the name `[…]=x` of a file for code
    is_clear = all(it.kind == "text" or it.source[:1] not in "*?[" for it in items if it.kind != "unknown")
    is_clear = is_clear and not any(it.kind == "unknown" or it.text.startswith("[") for it in items)
    source = source_of(node)
    return Word("unknown", source, source, False, "" if is_clear else source, items=tuple(items))


def words_of(node: Node, values: Mapping[str, Word]) -> list[Word]:
    """Evaluate a word. A brace expansion such as `{a,b}` gives several words."""
    source = source_of(node)
    array = _ARRAY.fullmatch(source)
    items = values[array[1]].items if array and array[1] in values else ()
    keyed = _KEYS.fullmatch(source)
    numbered = values[keyed[1]].items if keyed and keyed[1] in values else ()
    if numbered and _are_texts(numbered):
        return [Word("text", str(at)) for at in range(len(numbered))]
    if array and items and not (array[2] and any(it.text.startswith("-") for it in items)):
        return [*items]
    if node.type == "brace_expression":
        return numbers_of(node) or [_problem(source)]
    parts = _BRACES.split(source)
    if node.type not in ("concatenation", "word") or len(parts) == 1 or source.count("{") != len(parts) // 2:
        return [word_of(node, values)]
    if not all(_BARE.fullmatch(text) for text in parts[::2] if text) or "\\" in source:
        return [word_of(node, values)]
    choices = [part.split(",") if at % 2 else [part] for at, part in enumerate(parts)]
    if prod(map(len, choices)) > MAX_NUMBERS:
        return [_problem(source)]
    return [_joined(list(_bare("".join(chosen))), source) for chosen in product(*choices)]


def numbers_of(value: Node) -> list[Word]:
    """Return the numbers of `$(seq 1 9)` or `{1..9}`, nothing for other values."""
    found = _SEQUENCE.fullmatch(source_of(value))
    first = int((found["from"] or found["first"] or 1) if found else 1)
    last = int(found["to"] or found["last"]) if found else 0
    return (
        [Word("text", str(number)) for number in range(first, last + 1)] if last - first < MAX_NUMBERS else []
    )


def _joined(parts: list[Word], source: str) -> Word:
    if len(filled := [part for part in parts if part.text]) == 1 and filled[0].listing:
        return replace(filled[0], source=source)
    problem = next((part.problem for part in parts if part.problem), "")
    if not problem and (pattern := _pattern_of_entries(filled)):
        return Word("glob", pattern, source, is_split=True)
    if problem or any(part.kind == "unknown" for part in parts):
        others = [part.text for part in filled if not part.is_commit]
        is_commit = len(others) < len(filled) and all(map(_OF_REVISION.fullmatch, others))
        is_number = not problem and all(part.kind == "text" or part.number for part in parts)
        return Word(
            "unknown", source, source, all(it.is_single for it in parts), problem, is_commit=is_commit,
            number="".join(part.number or part.text for part in parts) if is_number else "",
        )  # fmt: skip
    if any(part.kind == "glob" for part in parts):
        pattern = "".join(part.text if part.kind == "glob" else glob.escape(part.text) for part in parts)
        return Word("glob", pattern, source, is_split=any(part.is_split for part in parts))
    return Word("text", "".join(part.text for part in parts), source)


def _pattern_of_entries(parts: list[Word]) -> str:
    """Return the pattern for `folder/$x`, where the value of `$x` is the name of an entry of the folder."""
    at = next((at for at, part in enumerate(parts) if part.entry_of), -1)
    texts = ["".join(part.text for part in some) for some in (parts[:at], parts[at + 1 :])]
    if at < 0 or any(part.kind != "text" for part in parts if part is not parts[at]):
        return ""
    before, after = texts
    is_below = (
        before.rstrip("/").removeprefix("./") == parts[at].entry_of.removeprefix("./") and before[-1:] == "/"
    )
    is_end = not after or (after[0] == "/" and ".." not in after and parts[at].is_filled)
    return f"{before}*{glob.escape(after)}" if is_below and is_end else ""


def _parts(node: Node, values: Mapping[str, Word]) -> Iterator[Word]:
    source = source_of(node)
    match node.type:
        case "word" | "number" | "extglob_pattern" | "test_operator":
            yield from _bare(source)
        case "raw_string":
            yield Word("text", source[1:-1])
        case "string":
            yield from _quoted(node, values)
        case "concatenation" | "command_name":
            if _PLAIN_BRACES.fullmatch(source):
                yield Word("text", source)
                return
            if "[" in source and _BARE.fullmatch(source):  # the grammar splits `[n]ode`
                yield from _bare(source)
                return
            for child in node.children:
                yield from _parts(child, values) if child.is_named else _bare(source_of(child))
        case "simple_expansion" | "expansion":
            yield _variable(source, values, is_quoted=False)
        case "command_substitution" if source == "$(pwd)" and "PWD" in values:
            yield _variable("$PWD", values, is_quoted=False)
        case "command_substitution" if _COMMIT.fullmatch(source):
            yield Word("unknown", source, source, is_commit=True)
        case "command_substitution" if COUNT.fullmatch(source):
            yield Word("unknown", source, source, number=NUMBER)
        case "command_substitution":
            problem = source if source.startswith("`") and "\\" in source else ""
            yield Word("unknown", source, source, is_single=False, problem=problem)
        case "ansi_c_string" if _SEPARATOR.fullmatch(source):
            yield Word("text", re.sub(r"\\[tnr]", lambda it: _ESCAPES[it[0]], source[2:-1]))
        case "process_substitution" if source.startswith("<"):
            yield Word("text", "/dev/stdin")  # the command gets the name of a pipe, and reads from it
        case "arithmetic_expansion" if found := _SUM.fullmatch(source):
            first, second = int(found[1]), int(found[3])
            results = {"+": first + second, "-": first - second, "*": first * second}
            yield Word("text", str(results[found[2]]), source)
        case "arithmetic_expansion" if is_sum(source, numeric(values)):
            yield Word("unknown", source, source, number=NUMBER)
        case _:
            yield _problem(source)


def _problem(source: str) -> Word:
    return Word("unknown", source, source, is_single=False, problem=source or "an empty expansion")


def _bare(source: str) -> Iterator[Word]:
    if not _BARE.fullmatch(source) or source.startswith("#"):
        yield _problem(source)
    elif _OTHER_TILDE.match(source):
        yield Word("unknown", source, source)
    elif _GLOB.search(source):
        # Treat a set of characters as any character, because shells match sets differently.
        pattern = _SET.sub("?", source)
        if "[" in pattern or "\\" in pattern:
            yield Word("unknown", source, source, is_single=False)
        else:
            yield Word("glob", pattern)
    else:
        yield Word("text", _ESCAPED.sub(r"\1", source))


def _variable(source: str, values: Mapping[str, Word], *, is_quoted: bool) -> Word:
    name = source[2:-1] if _PLAIN_EXPANSION.fullmatch(source) else source[1:]
    if re.match(r"\d\D", name):  # the grammar takes `$1p` for one variable
        parts = [_variable(source[:2], values, is_quoted=is_quoted), Word("text", name[1:])]
        return _joined(parts, source)
    is_count = source.startswith("${#") or _EXIT_CODE.fullmatch(source) is not None
    if is_count and _HARMLESS_EXPANSION.fullmatch(source):
        return Word("unknown", source, source, number=NUMBER)
    item = _ITEM.fullmatch(source)
    key = values[item[2][1:]].text if item and item[2][1:] in values else item[2] if item else ""
    if item and item[1] in values and is_quoted and re.fullmatch(r"-?\d+", key):
        items, at = values[item[1]].items, int(key)
        if items and (len(items) == 1 or (-len(items) <= at < len(items) and _are_texts(items))):
            return items[0 if len(items) == 1 else at]
    if _HARMLESS_EXPANSION.fullmatch(source):
        return Word("unknown", source, source, is_single=is_quoted and "[@]" not in source)
    if source.startswith("${") and not _PLAIN_EXPANSION.fullmatch(source):
        return _problem(source)
    if name in NUMBERS:
        return Word("unknown", source, source, number=NUMBER)
    known = values.get(name)
    if known is not None and known.number:
        return replace(known, text=source, source=source)
    if known is not None and known.listing:
        return replace(known, text=source, source=source, is_single=is_quoted)
    if known is not None and known.entry_of:
        return replace(known, text=source, source=source, is_single=is_quoted)
    if known is not None and known.is_commit:
        return replace(known, text=source, source=source, is_single=True)
    if known is None or known.kind == "unknown":
        return Word("unknown", source, source, is_single=(is_quoted and name not in "@*") or name in USUAL)
    if known.kind == "glob" and (is_quoted or not _NEVER_SPLIT.search(known.text)):
        return replace(known, is_split=known.is_split or not is_quoted, is_single=is_quoted)
    if not is_quoted and (known.kind == "glob" or _SPLIT_OR_MATCHED.search(known.text)):
        return Word("unknown", source, source, is_single=False)
    return known


def _are_texts(items: Sequence[Word]) -> bool:
    return all(it.kind == "text" for it in items)


def numeric(values: Mapping[str, Word]) -> frozenset[str]:
    """Return the variables whose values are numbers."""
    return frozenset(
        name for name, it in values.items() if it.number or (it.kind == "text" and it.text.isdigit())
    )


def _quoted(node: Node, values: Mapping[str, Word]) -> Iterator[Word]:
    """Evaluate text in double quotes: expansions are child nodes, everything else is text."""
    encoded = node.text or b""
    at = 1
    for child in node.named_children:
        if child.type == "string_content":
            continue
        text = child.text or b""
        start = child.start_byte - node.start_byte + len(text) - len(text.lstrip(b" \t\n"))
        yield _quoted_text(encoded[at:start])
        if child.type in ("simple_expansion", "expansion"):
            yield _variable(source_of(child), values, is_quoted=True)
        else:
            for part in _parts(child, values):
                yield replace(part, is_single=True, is_split=False, listing=())
        at = child.end_byte - node.start_byte
    yield _quoted_text(encoded[at:-1])


def _quoted_text(encoded: bytes) -> Word:
    text = encoded.decode("utf-8", "replace")
    if re.search(r"(?<!\\)(?:\\\\)*(?:`|\$[\w({?$#!@*'\"-])", text):
        return _problem(text)
    return Word("text", _ESCAPED_IN_QUOTES.sub(r"\1", text))
