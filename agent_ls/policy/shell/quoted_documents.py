"""Pure: read the form `"$(cat <<'EOF' … EOF)"`, in which models write messages of several lines.

The text is literal, but old shells (bash 3.2) search for the end of `$(` without knowledge of here-documents. So the
form is read only if such a shell finds the same end, or none: then it refuses the command.
"""

from __future__ import annotations

import re

from agent_ls.patterns import regex

_OPENING = regex(r"""(?<!\$)"\$\(cat[ ]<<(?P<quote>['"]?)(?P<word>[A-Za-z_]\w*)(?P=quote)\n""")
_CLOSING = regex(r"""[ \t\n]*\)(?=")""")
_SPECIAL = regex(r"""\$[({'"\[]""")
_EXPANDED = regex(r"[$`\\]")
_COMMENT = regex(r"(?:^|(?<=[ \t]))#[^\n]*", re.MULTILINE)
_ENDS = "'\"`()"
_OPEN_QUOTE = "quote"


def literal_document(command: str, at: int) -> tuple[str, int] | None:
    """Return the text of the document at `at` as a word in single quotes, and the offset after the form.

    Return None if there is no such form, or a shell may read it in another way.
    """
    opening = _OPENING.match(command, at)
    if opening is None or any(char in command[:at] for char in "(`"):
        return None
    start = opening.end()
    marker = re.compile(rf"^{re.escape(opening['word'])}$", re.MULTILINE).search(command, start)
    closing = _CLOSING.match(command, marker.end()) if marker else None
    if marker is None or closing is None:
        return None
    body, rest = command[start : marker.start()], command[closing.end() + 1 :]
    if _SPECIAL.search(body) or (not opening["quote"] and _EXPANDED.search(body)):
        return None
    ends = {_end_for_old_shells(body), _end_for_old_shells(_COMMENT.sub("", body))}
    if None in ends or (ends != {""} and any(char in rest for char in _ENDS)):
        return None
    text = body.rstrip("\n").replace("'", "'\\''")
    return f"'{text}'", closing.end() + 1


def _end_for_old_shells(body: str) -> str | None:
    """Return "" if a shell without knowledge of here-documents is at the same level after the text as before it.

    Return what it still searches for if it is at another level, and None if it ends `$(` inside of the text.
    """
    depth, at = 0, 0
    while at < len(body):
        char = body[at]
        if char == "\\":
            at += 1
        elif char in "'\"`":
            at = _end_of_quote(body, at)
            if at < 0:
                return _OPEN_QUOTE
        elif char in "()":
            depth += 1 if char == "(" else -1
            if depth < 0:
                return None
        at += 1
    return ")" * depth


def _end_of_quote(body: str, at: int) -> int:
    quote, at = body[at], at + 1
    while at < len(body) and body[at] != quote:
        at += 2 if body[at] == "\\" and quote != "'" else 1
    return at if at < len(body) else -1
