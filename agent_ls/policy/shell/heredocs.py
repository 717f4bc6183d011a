"""Pure: remove here-documents from a command line, because the grammar cannot parse text after `<<EOF`.

`cat <<'EOF' > f` becomes `cat < /dev/stdin > f`. A document that the shell expands becomes a here-string in double
quotes. Read-only code for python becomes the value of `-c`.
"""

from __future__ import annotations

import re

from agent_ls.patterns import regex
from agent_ls.policy.shell.python_code import read_paths
from agent_ls.policy.shell.quoted_documents import literal_document

_TOKEN = regex(
    r"""
    (?P<document> <<(?P<tabs>-?)[ \t]*(?P<quote>['"]?)(?P<word>[A-Za-z_][\w.-]*)(?P=quote)(?=[\s;&|<>)]|\Z) )
    | (?P<line> \n )
    | (?: <<<
        | \$\(\([\d \t+*/%()<>&|^~!=?:-]*\)\)
        | '[^']*'
        | "(?: [^"\\`$] | \\. | \$(?![({]) | \$\([^"'()<\\`]*\) | \$\{[^"'(){}<\\`]+\} )*"
        | (?<![^\s;&|()])\#[^\n]*
        | \\.
        | [^\\'"<\n]
        | <(?!<) )
    """,
    re.VERBOSE | re.DOTALL,
)
_EXPANDED = regex(r"[$`\\]")
_PYTHON = regex(r"(?:\A|[\s;&|(])python3?(?P<stdin>[ \t]+-)?[ \t]*\Z")


def without_documents(command: str) -> str | None:
    """Return the line with each here-document replaced, None if a here-document has an unusual form."""
    if "<<" not in command:
        return command
    pieces: list[str] = []
    pending: list[tuple[int, re.Match[str]]] = []
    at = 0
    while at < len(command):
        if not pending and (literal := literal_document(command, at)):
            text, at = literal
            pieces.append(text)
            continue
        found = _TOKEN.match(command, at)
        if found is None:
            return None
        at = found.end()
        if found["document"]:
            pending.append((len(pieces), found))
        pieces.append(found[0])
        if found["line"]:
            for place, document in pending:
                taken = _body(command, at, document)
                if taken is None:
                    return None
                pieces[place], after = taken
                if code := _code(command[at:after], "".join(pieces[:place]), document):
                    before, pieces[place] = code
                    pieces[:place] = [before, *[""] * (place - 1)]
                at = after
            pending.clear()
    return None if pending else "".join(pieces)


def _body(command: str, at: int, document: re.Match[str]) -> tuple[str, int] | None:
    """Return the redirection that replaces a here-document, and the offset of the text after the document.

    Return None if the here-document has no end marker, or cannot be written as a string.
    """
    start = at
    while at < len(command):
        end = command.find("\n", at)
        line = command[at:] if end < 0 else command[at:end]
        after = len(command) if end < 0 else end + 1
        if (line.lstrip("\t") if document["tabs"] else line) == document["word"]:
            body = command[start:at]
            if document["quote"] or not _EXPANDED.search(body):
                return " < /dev/stdin", after
            # these characters have another meaning in a string than in a here-document
            if "\\" in body or '"' in body:
                return None
            return f' <<< "{body}"', after
        at = after
    return None


def _code(text: str, before: str, document: re.Match[str]) -> tuple[str, str] | None:
    """Return what replaces the line before a document of read-only code for python, and the document.

    Return None for other documents.
    """
    body = text[: text.rstrip("\n").rfind("\n") + 1]
    python = _PYTHON.search(before)
    is_literal = document["quote"] or not _EXPANDED.search(body)
    if python is None or not is_literal or document["tabs"] or read_paths(body) is None:
        return None
    quoted = body.replace("'", "'\\''")
    return before[: python.start("stdin")] if python["stdin"] else before, f" -c '{quoted}'"
