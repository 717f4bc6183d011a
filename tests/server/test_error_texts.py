"""Error texts are for users: none of them names a message or a member of the protocol (H28)."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import agent_ls
from agent_ls.server.transport.errors import (
    AmbiguousSelectionError,
    BadInputError,
    InvalidParamsError,
    KeyReusedError,
    NotNegotiatedError,
    NotOpenError,
    RequestError,
    StartError,
    UnknownCommandError,
    UnknownMethodError,
    response_error,
)
from tests.docs.pages import nodes, read

pytestmark = pytest.mark.req("H28")

PROGRAM = Path(agent_ls.__file__).parent
FOR_PROGRAMS = ("library", "testing", "llm/generate.py", "tools")
"""Programs or the model read the errors of these modules, so protocol names are allowed there."""

SETTINGS = {"caFile", "oauthRedirect", "toolCalls", "maxTurns", "webFetch", "oauthServer"}
_NAME = re.compile(r"\bagent/\w+|`\w+_\w+`|\btool_call_end\b|(?<![\w.])(?!agentLs\b)[a-z]+[A-Z]\w*\b")


def texts_of(place: str) -> Iterator[ast.Constant]:
    """Yield the string constants of errors, warnings and hints. `detail` is left out: it is for authors of clients."""
    for node in nodes(place):
        match node:
            case ast.Raise(exc=ast.Call(func=ast.Name(id="InvalidParamsError"))):
                continue  # all its arguments are detail
            case ast.Raise(exc=ast.expr() as made):
                yield from constants(made)
            case ast.Assign(targets=[ast.Name(id="hint") | ast.Attribute(attr="hint")], value=value):
                yield from constants(value)
            case ast.Call(func=ast.Attribute(attr="__init__"), args=args):
                for value in args:
                    yield from constants(value)
            case ast.Call(func=ast.Name(id="Warning" | "Error" | "ShowMessageParams")):
                yield from constants(node)
            case ast.keyword(arg="hint" | "message", value=value):
                yield from constants(value)
            case _:
                pass


def constants(node: ast.AST) -> Iterator[ast.Constant]:
    for inner in ast.walk(node):
        if isinstance(inner, ast.Constant) and isinstance(inner.value, str):
            yield inner


def test_error_messages_contain_no_protocol_names() -> None:
    found, looked_at = [], 0
    for path in sorted(PROGRAM.rglob("*.py")):
        place = path.relative_to(PROGRAM).as_posix()
        if place.startswith(FOR_PROGRAMS):
            continue
        if not _NAME.search(read(f"agent_ls/{place}")):
            continue  # parsing all files takes seconds
        for text in texts_of(f"agent_ls/{place}"):
            looked_at += 1
            names = set(_NAME.findall(str(text.value))) - SETTINGS
            if " " in str(text.value) and names:
                found.append(f"{place}:{text.lineno}: {text.value!r} names {sorted(names)}")
    assert looked_at > 300, "errors are no longer written as this test finds them"
    assert found == []


REFUSALS: tuple[RequestError, ...] = (
    InvalidParamsError("agent/submit", "clientKey: Field required"),
    BadInputError("the message is empty", "write a message"),
    UnknownMethodError("agent/dance"),
    StartError(),
    NotNegotiatedError("events"),
    KeyReusedError("agent/submit", "agent/steer"),
    NotOpenError("s-1"),
    AmbiguousSelectionError(2),
    UnknownCommandError("dance"),
)


def test_the_error_examples_of_this_test_include_every_request_error_class() -> None:
    kinds = {cls for cls in RequestError.__subclasses__() if cls.__name__ != "NothingPendingError"}
    assert kinds == {type(error) for error in REFUSALS}


@pytest.mark.parametrize("error", REFUSALS, ids=lambda error: type(error).__name__)
def test_every_request_error_has_a_hint_without_protocol_names(error: RequestError) -> None:
    answer = response_error(error)
    fields: Any = answer.data
    text = f"{answer.message} {fields['hint']}"
    assert fields["hint"]
    assert not set(_NAME.findall(text))
