"""Pure: parse and edit a chat document, for example:

    ## you

    Please fix the discount.

    ## agent <!-- s-dd41cf8b3025410f 1 -->

    ...

An agent heading has the session id and a counter, so that the heading can be found by its text after it has
moved. The model's text is escaped if it looks like a heading, because text below a false heading would count
as the user's message.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import zip_longest

from agent_ls.environments.editor_host import LineEdit
from agent_ls.patterns import regex
from agent_ls.text import line_ending, split_lines, strip_ending

SUFFIX = ".agent.md"
YOU = "## you"

_HEADING = regex(r"\s{0,3}##\s+(you|agent)\b", re.IGNORECASE)
_AGENT = regex(r"## agent <!-- (s-[0-9a-f]+) (\d+) -->\s*\Z")
_MENTION = regex(r"(?<!\S)@([^\s@]*[^\s@.,;:!?)\]])")
_LINES = regex(r"(.+):(\d+)(?:-(\d+))?\Z")


def is_chat(path: str) -> bool:
    return path.endswith(SUFFIX)


@dataclass(frozen=True, slots=True)
class ChatText:
    """A parsed chat. `message` is the unsent text of the user, from line `message_line` on; `session_id` "":
    the chat has no session yet.

    `is_answer_last`: the document ends with an answer, so there is nothing to send.
    """

    message: str
    message_line: int
    session_id: str
    count: int
    is_answer_last: bool


def read_chat(text: str) -> ChatText:
    lines = [strip_ending(line) for line in split_lines(text)]
    last, is_answer, session_id, count = -1, False, "", 0
    for index, line in enumerate(lines):
        if found := _AGENT.match(line):
            last, is_answer, session_id, count = index, True, found[1], int(found[2])
        elif line.rstrip().lower() == YOU:
            last, is_answer = index, False
    message = "" if is_answer else "\n".join(lines[last + 1 :]).strip()
    return ChatText(message, last + 1, session_id, count, is_answer)


@dataclass(frozen=True, slots=True)
class Mention:
    """A file or lines that a message mentions, for example `@shop/cart.py:3-9`. `lines` is [first, end),
    counted from 0; None means the whole file.
    """

    path: str
    lines: tuple[int, int] | None = None


def mentioned_words(message: str) -> list[str]:
    """Return the words that begin with `@`, without the `@` and without punctuation at the end of a word."""
    return [str(word) for word in _MENTION.findall(message)]


def get_mentions(message: str) -> list[Mention]:
    found = []
    for word in mentioned_words(message):
        if at := _LINES.match(word):
            first = int(at[2])
            found.append(Mention(at[1], (max(first - 1, 0), max(int(at[3] or first), first))))
        else:
            found.append(Mention(word))
    return found


def heading(session_id: str, count: int) -> str:
    return f"## agent <!-- {session_id} {count} -->"


def escape_headings(text: str) -> str:
    """Return the model's text with lines escaped that look like a chat heading."""
    return "\n".join("\\" + line.lstrip() if _HEADING.match(line) else line for line in text.split("\n"))


def may_be_heading(line: str) -> bool:
    """Return whether an unfinished line could still become a heading."""
    rest = line.lstrip()
    return bool(line) and len(line) < 20 and (not rest or rest.startswith("#"))


@dataclass(frozen=True, slots=True)
class Region:
    """An answer in the document: its heading, and the text written below it. Lines end with "\\n" here."""

    marker: str
    written: str = ""


def make_opening(text: str, region: Region, said: str = "") -> list[LineEdit]:
    """Return the edits that insert `region` (an answer and its heading) into the document `text`.

    The answer goes directly below the message `said` if the user has already typed the next message there.
    Otherwise it goes to the end of the document.
    """
    lines = split_lines(text)
    words = f"{region.marker}\n{region.written}\n"
    if (at := _find_typed_line(lines, said)) is not None:
        return [LineEdit(at, at, _with_ending(f"\n{words}", lines))]
    gap = "\n" if lines and strip_ending(lines[-1]).strip() else ""
    return [_at_end(lines, gap + words)]


def _find_typed_line(lines: Sequence[str], said: str) -> int | None:
    """Return the line below the message `said` if the user has typed there; None if the user has typed
    nothing there or has changed the message.
    """
    contents, wanted = [line.strip() for line in lines], [line.strip() for line in said.split("\n")]
    for start in reversed(range(len(contents) - len(wanted)) if said else ()):
        end = start + len(wanted)
        if contents[start:end] == wanted and _begins_message(contents[:start]):
            is_last = not any(contents[end:]) or any(_AGENT.match(line) for line in contents[end:])
            return None if is_last else end
    return None


def _begins_message(before: Sequence[str]) -> bool:
    above = next((line for line in reversed(before) if line), YOU)
    return above.lower() == YOU


def append_line(text: str, words: str) -> list[LineEdit]:
    """Return the edits that add a line at the end of the document."""
    return [_at_end(split_lines(text), f"{words}\n")]


def insert_notice(text: str, notice: str) -> list[LineEdit] | None:
    """Return the edits that insert a notice above the user's next message, which may be typed already.

    Returns None if the document does not end with a heading of the user below an answer.
    """
    lines = split_lines(text)
    contents = [strip_ending(line).rstrip() for line in lines]
    chat = read_chat(text)
    if chat.is_answer_last or not chat.session_id:
        return None
    at = chat.message_line - 1
    gap = "\n" if contents[at - 1] else ""
    return [LineEdit(at, at, _with_ending(f"{gap}{notice}\n\n", lines))]


def read_below(text: str, marker: str) -> str | None:
    """Return the text between a heading and the next heading or the end of the document; None if the heading
    does not exist.
    """
    contents = [strip_ending(line) for line in split_lines(text)]
    if marker not in contents:
        return None
    start = _find_last(contents, marker) + 1
    end = next((at for at in range(start, len(contents)) if _HEADING.match(contents[at])), len(contents))
    return "\n".join(contents[start:end])


def append_answer(text: str, region: Region, more: str) -> list[LineEdit] | None:
    """Return the edits that append `more` to the answer in `region`; None if the document no longer has the
    answer as it was written.
    """
    lines = split_lines(text)
    contents = [strip_ending(line) for line in lines]
    if region.marker not in contents:
        return None
    start = _find_last(contents, region.marker) + 1
    written = region.written.split("\n")
    here = contents[start : start + len(written)]
    is_begun = not written[-1] and len(here) == len(written) and bool(here[-1].strip())
    if is_begun:  # the user has typed on the empty line where the answer would continue
        here[-1] = ""
    if any((ours or "").rstrip() != (theirs or "").rstrip() for ours, theirs in zip_longest(written, here)):
        return None
    grown = (region.written + more).split("\n")
    new = "\n".join(grown[len(written) - 1 :]) + "\n"
    at = start + len(written) - 1
    if at >= len(lines):
        return [_at_end(lines, new)]
    if is_begun:
        return [LineEdit(at, at, _with_ending(new, lines))]
    return [LineEdit(at, at + 1, _with_ending(new, lines))]


def _at_end(lines: Sequence[str], text: str) -> LineEdit:
    if lines and not line_ending(lines[-1]):
        return LineEdit(len(lines) - 1, len(lines), _with_ending(f"{lines[-1]}\n{text}", lines))
    return LineEdit(len(lines), len(lines), _with_ending(text, lines))


def _with_ending(text: str, lines: Sequence[str]) -> str:
    ending = line_ending(lines[0]) if lines else ""
    return text.replace("\n", ending) if ending == "\r\n" else text


def _find_last(lines: Sequence[str], line: str) -> int:
    return len(lines) - 1 - lines[::-1].index(line)
