"""Pure: decide whether an awk program only prints: it runs no other programs and opens no files itself."""

from __future__ import annotations

import re
from collections.abc import Sequence

from agent_ls.patterns import regex

_TOKEN = regex(
    r"""
    (?P<string> "(?:[^"\\\n]|\\[^\n])*" )
    | (?P<number> (?:\d+(?:\.\d+)?|\.\d+)(?:[eE][+-]?\d+)?(?![\w.]) )
    | (?P<name> [A-Za-z_]\w* )
    | (?P<end> \n )
    | (?P<operator> \|\||&&|[=!<>+*%^-]=|!~|\+\+|--|\*\*=?|\|(?![|&])|[$(){}\[\],;?:!~+*/%^=<>-] )
    """,
    re.VERBOSE,
)
_BLANK = regex(r"(?:[ \t]|#[^\n]*(?<!\\)(?=\n|\Z))*")
_REGEX = regex(r"/(?!=)(?:[^/\\\n\[]|\\[^\n]|\[(?!\^?\])(?:[^\]/\\\n\[]|\\[^\n\]]|\[:\w+:\])+\])+/")
"""Matches a regular expression that all versions of awk end at the same place.

So no set begins with `]`, and no set contains `/`, an escaped `]` or a `[` of another kind. It is not empty, and does
not begin with `=`, because `/=` is an operator.
"""
_FUNCTIONS = frozenset(
    "length substr index split sub gsub gensub match sprintf tolower toupper sin cos atan2 exp log sqrt int rand srand "
    "strftime mktime systime asort asorti strtonum and or xor lshift rshift compl".split()
)
_RESERVED = frozenset(
    "BEGIN END BEGINFILE ENDFILE if else while for do break continue next nextfile exit delete in getline print "
    "printf return switch case default function func namespace include load system close fflush "
    "ENVIRON ARGV ARGC PROCINFO SYMTAB FUNCTAB".split()
)
"""Names that are not plain variables: words of the language, and what reaches programs, files or the environment."""
_BINARY = frozenset("|| && == != <= >= < > + - * % ^ ** = += -= *= %= ^= **= ~ !~ in ? :".split())
_BEFORE_REGEX = frozenset("|| && ~ !~".split())
_AFTER_REGEX = frozenset("|| && , ) { } ; \n".split()) | {""}
_AFTER_LENGTH = frozenset(" == != <= >= < > ) , ; } { \n".split(" "))
_PRINTS = frozenset(("print", "printf"))
_ASSIGNMENT = regex(r"[A-Za-z_]\w*=[^@]*", re.DOTALL)
_SORTS = regex(
    r'"sort(?: -[bdfghinruV]+\d?| -k ?\d+[nr]*(?:,\d+[bdfghinrV]*)?| -t ?[,:])*(?: \| head(?: -n ?\d+| -\d+)?)?"'
)
"""A command line that only sorts what awk prints, and has no file."""
MAX_PROGRAM = 4_000
MAX_DEPTH = 40


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
    """Return whether an awk program only reads its input and prints.

    The program must be of a part of the language that all versions of awk read alike. Everything else is refused:
    where one version reads text, another may read code.
    """
    if len(program) > MAX_PROGRAM:
        return False
    try:
        _Program(program).read()
    except _UnknownError:
        return False
    return True


class _UnknownError(Exception):
    """The program is not of the known part of the language."""


class _Program:
    """Reads a program by its grammar. Whether `/` divides or starts a regular expression is known at each place."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._at = 0
        self._depth = 0
        self._is_printing = False
        self._skip_blanks()

    # -- tokens

    def _skip_blanks(self) -> None:
        found = _BLANK.match(self._text, self._at)
        self._at = found.end() if found else self._at

    def _peek(self) -> tuple[str, str]:
        """Return the kind and the text of the next token; ("", "") at the end."""
        found = _TOKEN.match(self._text, self._at)
        if found is None:
            if self._at < len(self._text):
                raise _UnknownError
            return "", ""
        return found.lastgroup or "", found[0]

    def _next(self) -> str:
        token = self._peek()[1]
        self._at += len(token)
        self._skip_blanks()
        return token

    def _take(self, *tokens: str) -> bool:
        """Go on after the next token, if it is one of `tokens`."""
        is_one = self._peek()[1] in tokens
        if is_one:
            self._next()
        return is_one

    def _expect(self, token: str) -> None:
        if not self._take(token):
            raise _UnknownError

    def _skip_lines(self) -> None:
        while self._take("\n"):
            pass

    # -- rules and statements

    def read(self) -> None:
        while self._peek()[1]:
            if self._take(";", "\n"):
                continue
            if self._take("BEGIN", "END"):
                self._block()
            elif self._peek()[1] == "{":
                self._block()
            else:
                self._expressions(may_be_regex=True)
                if self._peek()[1] == "{":
                    self._block()
                elif self._peek()[1] and not self._take(";", "\n"):
                    raise _UnknownError

    def _block(self) -> None:
        self._enter()
        self._expect("{")
        while not self._take("}"):
            if not self._take(";", "\n"):
                self._statement()
        self._depth -= 1

    def _statement(self) -> None:
        token = self._peek()[1]
        if token == "{":
            return self._block()
        if token in ("if", "while", "for"):
            return self._controlled(self._next())
        if token in ("next", "break", "continue", "delete", "exit", *_PRINTS):
            self._next()
        if token == "delete":
            self._variable()
        elif token in _PRINTS or token == "exit":
            self._is_printing = token in _PRINTS
            if self._peek()[1] not in (";", "\n", "}"):
                self._expressions()
            if self._is_printing and self._take("|"):
                kind, text = self._peek()
                if kind != "string" or not _SORTS.fullmatch(text):
                    raise _UnknownError
                self._next()
            self._is_printing = False
        elif token not in ("next", "break", "continue"):
            self._expressions()
        if self._peek()[1] != "}" and not self._take(";", "\n"):
            raise _UnknownError
        return None

    def _controlled(self, word: str) -> None:
        """Read a condition or the head of a loop, and the statement that it controls."""
        self._enter()
        self._expect("(")
        if word == "for":
            parts = 1
            while not self._take(")"):
                if self._take(";"):
                    parts += 1
                else:
                    self._expressions()
            if parts not in (1, 3):
                raise _UnknownError
        else:
            self._expressions(may_be_regex=True)
            self._expect(")")
        self._skip_lines()
        self._statement()
        if word == "if":
            before = self._at
            while self._take(";", "\n"):
                pass
            if self._take("else"):
                self._skip_lines()
                self._statement()
            else:
                self._at = before
        self._depth -= 1

    def _enter(self) -> None:
        self._depth += 1
        if self._depth > MAX_DEPTH:
            raise _UnknownError

    # -- expressions

    def _expressions(self, *, may_be_regex: bool = False) -> None:
        """Read one or more expressions with commas between them."""
        self._expression(may_be_regex=may_be_regex)
        while self._take(","):
            self._skip_lines()
            self._expression(may_be_regex=may_be_regex)

    def _expression(self, *, may_be_regex: bool) -> None:
        """Read operands and what connects them. Their precedence does not matter here."""
        choices = 0
        while True:
            can_divide = self._operand(may_be_regex=may_be_regex)
            kind, token = self._peek()
            if token == "/":
                self._next()
                if not can_divide or self._peek()[1][:1] == "=":
                    raise _UnknownError
                may_be_regex = False
            elif token in _BINARY:
                choices += (token == "?") - (token == ":")
                if choices < 0 or (token == ">" and self._is_printing):
                    raise _UnknownError
                self._next()
                may_be_regex = token in _BEFORE_REGEX
                if token in ("&&", "||"):
                    self._skip_lines()
                if token == "in":
                    self._variable()
                    if self._peek()[1] in ("/", "["):
                        raise _UnknownError
                    return
            elif kind in ("string", "number") or token in ("$", "(") or self._is_plain_name(kind, token):
                may_be_regex = False  # the operands are joined
            elif choices:
                raise _UnknownError
            else:
                return

    def _is_plain_name(self, kind: str, token: str) -> bool:
        return kind == "name" and token not in _RESERVED

    def _operand(self, *, may_be_regex: bool) -> bool:
        """Read an operand with its signs. Return whether a `/` after it divides in all versions."""
        while self._peek()[1] in ("!", "-", "+"):
            may_be_regex = self._next() == "!" and may_be_regex
        if self._take("++", "--"):
            self._place()
            return False
        kind, token = self._peek()
        if token == "/" and may_be_regex:
            return self._regex()
        if token == "(":
            self._group()
            return True
        if kind in ("string", "number"):
            self._next()
            return kind == "number"
        if token in _FUNCTIONS:
            self._next()
            if self._peek()[1] == "(":
                self._group()
                return True
            if token != "length" or self._peek()[1] not in _AFTER_LENGTH:
                raise _UnknownError
            return False
        self._place()
        return not self._take("++", "--")

    def _regex(self) -> bool:
        found = _REGEX.match(self._text, self._at)
        if found is None:
            raise _UnknownError
        self._at = found.end()
        self._skip_blanks()
        if self._peek()[1] not in _AFTER_REGEX:
            raise _UnknownError
        return False

    def _group(self) -> None:
        """Read expressions in parentheses, or the arguments of a function."""
        self._enter()
        self._expect("(")
        if not self._take(")"):
            self._expressions(may_be_regex=True)
            self._expect(")")
        self._depth -= 1

    def _place(self) -> None:
        """Read something that can be assigned to: a field, a variable or an element of an array."""
        if not self._take("$"):
            return self._variable()
        while self._take("$"):
            pass
        kind, token = self._peek()
        if kind == "number":
            self._next()
        elif token == "(":
            self._group()
        else:
            self._variable()
        return None

    def _variable(self) -> None:
        kind, token = self._peek()
        if not self._is_plain_name(kind, token) or token in _FUNCTIONS:
            raise _UnknownError
        self._at += len(token)
        if self._text[self._at : self._at + 1] == "(":
            raise _UnknownError  # a call of a function
        self._skip_blanks()
        if self._take("["):
            self._expressions()
            self._expect("]")
