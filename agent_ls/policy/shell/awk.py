"""Pure: decide whether an awk program only prints: it runs no other programs and opens no files itself."""

from __future__ import annotations

import re
from collections.abc import Sequence

_TOKEN = re.compile(
    r"""
    (?P<blank> [ \t\n]+ | \#[^\n]* | \\\n )
    | (?P<string> "(?:[^"\\\n]|\\[^\n])*" )
    | (?P<number> (?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)? )
    | (?P<name> [A-Za-z_]\w* )
    | (?P<operator> \|\||&&|[=!<>+*/%^-]=|\+\+|--|\*\*=?|[$(){}\[\],;?:!~+*/%^=<>-] )
    """,
    re.VERBOSE,
)
_REGEX = re.compile(r"/(?:[^/\\\n\[]|\\[^\n]|\[(?!\^?\])(?:[^\]/\\\n\[]|\\[^\n\]]|\[:\w+:\])+\])*/")
"""Matches a regular expression that all versions of awk end at the same place.

So no set begins with `]`, and no set contains `/`, an escaped `]` or a `[` of another kind.
"""
_FORBIDDEN = frozenset(
    "system getline close fflush ENVIRON ARGV ARGC PROCINFO SYMTAB FUNCTAB extension include load function func".split()
)
_CALLABLE = frozenset(
    "length substr index split sub gsub gensub match sprintf tolower toupper sin cos atan2 exp log sqrt int rand srand "
    "strftime mktime systime asort asorti strtonum and or xor lshift rshift compl if while for print printf return in "
    "switch do else exit case".split()
)
_UNCLEAR = "/"
"""The last token if it depends on the version whether a `/` after it divides."""
_STATEMENTS = frozenset("if while for print printf return in switch do else exit case".split())
_FUNCTIONS = _CALLABLE - _STATEMENTS
_PRINTS = frozenset(("print", "printf"))
_CONTINUING = frozenset(", && || ( { ? :".split())
"""Tokens after which a line break does not end the statement.

After `?` and `:` this is true only in gawk; other versions report an error.
"""
_CONDITIONS = frozenset("if while for switch".split())
_ASSIGNMENT = re.compile(r"[A-Za-z_]\w*=[^@]*", re.DOTALL)
MAX_PROGRAM = 4_000


def only_prints(arguments: Sequence[str], patterns: Sequence[int] = ()) -> bool:
    """Return whether awk with these arguments writes only to its output.

    `patterns` are the indexes of arguments that are patterns for file names.
    """
    at = 0
    while at < len(arguments) and arguments[at].startswith("-") and arguments[at] != "-":
        word = arguments[at]
        if at in patterns:
            return False
        if word == "--":
            at += 1
            break
        if word in ("-F", "-v"):
            if at + 1 >= len(arguments) or at + 1 in patterns:
                return False
            if word == "-v" and not _ASSIGNMENT.fullmatch(arguments[at + 1]):
                return False
            at += 2
        elif word.startswith("-F") or (word.startswith("-v") and _ASSIGNMENT.fullmatch(word[2:])):
            at += 1
        else:
            return False
    if at >= len(arguments) or at in patterns:
        return False
    # After the program, a word that begins with `-` is a file for gawk, but may be an option for other versions.
    if any(word.startswith("-") and word != "-" for word in arguments[at + 1 :]):
        return False
    return is_harmless(arguments[at])


def is_harmless(program: str) -> bool:
    """Return whether an awk program only reads its input and prints; False if it has an unknown token."""
    if len(program) > MAX_PROGRAM:
        return False
    at = 0
    before = keyword = ""  # `before`: the last token; it tells whether a `/` divides or starts a regex
    is_printing = False
    is_condition: list[bool] = []  # for each open parenthesis: whether a statement may follow the closing one
    while at < len(program):
        if program[at] == "/" and (before == _UNCLEAR or keyword in _FUNCTIONS):
            return False  # whether it divides depends on the version
        if program[at] == "/" and not _is_operand(before):
            regex = _REGEX.match(program, at)
            if regex is None or before in ("++", "--", "$"):
                return False
            at, before, keyword = regex.end(), _UNCLEAR, ""
            continue
        found = _TOKEN.match(program, at)
        if found is None:
            return False
        at = found.end()
        token = found[0]
        if found["blank"]:
            if "\n" in token and token[0] != "\\" and before not in _CONTINUING:
                is_printing, before = False, ";"
            continue
        if found["name"]:
            if token in _FORBIDDEN or (program[at : at + 1] == "(" and token not in _CALLABLE):
                return False
            is_printing = is_printing or token in _PRINTS
            before = _UNCLEAR if keyword == "in" else "(" if token in _STATEMENTS else token
            keyword = token
            continue
        if token == "/=":
            return False  # gawk reads a regular expression here where the left side is no variable
        if token == "(":
            is_condition.append(keyword in _CONDITIONS)
        elif token == ")" and is_condition and is_condition.pop():
            token = "("  # `if (x) /y/` contains a regular expression, `(x) /y/` divisions
        keyword = ""
        if token in (";", "{", "}"):
            is_printing = False
        if is_printing and token.startswith(">"):
            return False
        before = token
    return True


def _is_operand(token: str) -> bool:
    """Return whether a `/` after this token is a division, not the start of a regular expression."""
    return token[-1:].isalnum() or token[-1:] in ("_", ".", ")", "]", '"')
