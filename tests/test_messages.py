"""All messages with a hint: one function joins them, and the two sentences have one stop between them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import agent_ls
from agent_ls.text import join_sentences
from tests.docs.pages import nodes

PACKAGE = Path(agent_ls.__file__).parent
# a message and its hint in one line, put together by hand
_BY_HAND = re.compile(
    r"\{[\w.()]*(?:error|message|problem|sentence|reason)[\w.()]*\}[;:.,]? ?\{[\w.()]*hint[\w.()]*\}"
    r"|\"\{message\} [A-Z]"
)
_WRONG = re.compile(r"(?<!\.)\.\.(?!\.)|(?<!\.)[.!?]\s*[;,:](?!\w)|[!?]\.|\s[.,;]\s")


def sources() -> Iterator[tuple[str, str]]:
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), path.read_text(encoding="utf-8")


def text_of(node: ast.expr | None) -> str | None:
    """Return a literal text, with "x" for each value that is put into it; None for anything else."""
    match node:
        case ast.Constant(value=str(text)):
            return text
        case ast.JoinedStr(values=values):
            return "".join(text_of(part) or "x" for part in values)
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return (text_of(left) or "x") + (text_of(right) or "x")
    return None


def hinted() -> Iterator[tuple[str, str, str]]:
    """Yield the place, the message and the hint of each call that states both as literals."""
    for name, _ in sources():
        for node in nodes(f"agent_ls/{name}"):
            if not isinstance(node, ast.Call) or not node.args:
                continue
            second = node.args[1] if len(node.args) == 2 and _is_error(node.func) else None
            hint = next((word.value for word in node.keywords if word.arg == "hint"), second)
            said, advice = text_of(node.args[0]), text_of(hint)
            if said and advice and " " in said and " " in advice:
                yield f"{name}:{node.lineno}", said, advice


def _is_error(function: ast.expr) -> bool:
    return isinstance(function, ast.Name) and function.id.endswith("Error")


def test_no_code_joins_a_message_and_its_hint_by_hand() -> None:
    found = [
        f"{name}:{number}"
        for name, source in sources()
        for number, line in enumerate(source.splitlines(), 1)
        if _BY_HAND.search(line)
    ]
    assert not found, "use agent_ls.text.join_sentences"


def test_each_message_and_its_hint_have_one_stop_between_them() -> None:
    catalogue = list(hinted())
    assert len(catalogue) > 100
    for place, message, hint in catalogue:
        joined = join_sentences(message, hint)
        first = joined[: len(message.rstrip()) + 1].rstrip()
        assert first.endswith((".", "!", "?", "…", ":")), (place, joined)
        assert not _WRONG.search(joined), (place, joined)
        assert hint == hint.strip() and message == message.strip(), (place, joined)
