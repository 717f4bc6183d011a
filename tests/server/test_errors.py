"""Every error class that can reach a client has a code, and responses contain no internals."""

from __future__ import annotations

import errno
import importlib
import inspect
import os
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest
from pygls.exceptions import JsonRpcInternalError, JsonRpcMethodNotFound

import agent_ls
from agent_ls.server.transport.errors import CODES, INTERNAL, KINDS_BY_CLASS, kind_of, response_error
from agent_ls.services.errors import AppError
from agent_ls.services.settings.state_folder import not_stored
from agent_ls.services.store_errors import store_errors

# Packages whose errors can reach a client through a request.
LAYERS = (
    "doctor",
    "environments",
    "features",
    "llm",
    "loop",
    "policy",
    "review",
    "server",
    "services",
    "sessions",
    "store",
)

# Errors that never reach a client, with the place that catches them.
INTERNAL_ONLY = {
    "ArgumentsError": "loop/calls/dispatch.py makes a tool result of it",
    "FrameError": "server/start.py and the channel end the connection",
    "NeedsThreadError": "services/turn_reads.py reads again in a thread",
    "OwnEnvironmentError": "of environments of programs: the tools make a result of it",
    "ProcessorTimeError": "environments/timed_search.py makes a SearchLimitError of it",
    "TooCostlyError": "llm/schema_check.py takes the schema as one that cannot be used",
    "UnblamableError": "sessions/stored/archive.py and cli/blame.py make a sentence of it",
    "_NotText": "sessions/export/patch.py makes a note of it in the patch",
    "RemoteFrameError": "environments/remote/connection.py ends the connection with an EnvironmentLostError",
    "_NoSubsetError": "llm/providers/gemini/schema.py leaves the schema out",
    "NoObjectGeneratedError": "of the functions for programs: no session raises it",
    "BadRecordingError": "of agent-ls replay and export, which say it and exit",
    "TooManyFilesError": "services/permissions/paths.py asks the user about the command instead",
    "_UnknownError": "policy/shell/awk.py makes a doubt of it",
    "BadImageError": "acp/prompts.py and server/rpc/inputs.py make errors of their own of it",
    "FrontMatterError": "features/skills makes a problem of it, with the file",
    "UnreadableFileError": "features/skills makes a problem of it, with the file",
    "YamlError": "features/tools/yaml_tools.py makes a problem of it, with file and line",
    "ListenError": "of agent-ls serve --tcp and --ws, which say it and exit",
    "NoAnswerError": "the language tools of agent_ls/tools make a result of it",
    "ChannelUnavailableError": "server/channel/listener.py logs it and serves without a channel; panel says it",
    "NoSuggestionError": "server/features/suggestions.py shows its sentence and answers without a suggestion",
    "NotDoneError": "server/editor/client_requests.py and server/editor/language.py go on without the client",
    "RequestError": "the base of those with a kind",
    "RemoteCancelledError": "environments/remote/connection.py raises the caller's own cancellation instead",
    "UncertainError": "services/permissions asks the user about the command instead",
    "_DoubtError": "policy/shell asks the user about the command instead",
    "UnknownModeError": "cli, batch and the library make errors of their own of it",
    "PlaceNameError": "cli and services/settings make errors of their own of it",
    "ValueFault": "environments/remote/connection.py ends the connection with an EnvironmentLostError",
}


def our_errors() -> Iterator[type[BaseException]]:
    for found in pkgutil.walk_packages(agent_ls.__path__, "agent_ls."):
        if found.name.split(".")[1] not in LAYERS or "sample_project" in found.name:
            continue
        try:
            module = importlib.import_module(found.name)
        except ModuleNotFoundError as error:
            assert error.name == "pywintypes", error  # Windows-only modules define no errors
            continue
        for _, member in inspect.getmembers(module, inspect.isclass):
            if issubclass(member, Exception) and member.__module__ == found.name:
                yield member


def test_every_error_class_has_an_error_code_or_is_listed_as_internal_only() -> None:
    missing = sorted(
        f"{cls.__module__}.{cls.__name__}"
        for cls in our_errors()
        if cls.__name__ not in INTERNAL_ONLY and kind_of(cls.__new__(cls)) not in CODES
    )
    assert missing == [], (
        "give these a `kind` with a row in server/transport/errors.py, or say why they never get out"
    )


def test_error_codes_are_distinct_and_every_kind_has_one() -> None:
    own = [code for code in CODES.values() if code > 0]
    assert len(set(own)) == len(own) == len(CODES) - 2
    assert set(KINDS_BY_CLASS.values()) <= set(CODES)


class Ours(Exception):
    kind = "rate_limit"
    retryable = True
    hint = "wait a minute"


def test_the_response_for_an_agent_ls_error_contains_kind_hint_and_retryable() -> None:
    answer = response_error(Ours("too fast"))
    assert (answer.code, answer.message) == (CODES["rate_limit"], "too fast")
    assert answer.data == {"kind": "rate_limit", "retryable": True, "hint": "wait a minute"}


@pytest.mark.parametrize("error", [ValueError("secret"), JsonRpcInternalError("secret"), KeyError("secret")])
def test_an_internal_error_reveals_no_internals(error: Exception) -> None:
    answer = response_error(error)
    assert answer.code == INTERNAL
    assert "secret" not in str(answer)


def test_the_response_for_a_json_rpc_error_keeps_the_code_and_drops_the_data() -> None:
    answer = response_error(JsonRpcMethodNotFound("unknown", data={"traceback": ["line"]}))
    assert (answer.code, answer.data) == (-32601, None)


@pytest.mark.req("R5")
@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_reached_open_file_limit_is_reported_with_a_hint_and_not_as_a_bug(number: int) -> None:
    answer = response_error(OSError(number, "Too many open files"))
    fields: Any = answer.data
    assert "open files" in answer.message
    assert "bug" not in answer.message
    assert "ulimit" in fields["hint"]


@pytest.mark.req("R5")
def test_opening_a_session_at_the_open_file_limit_reports_the_limit_with_a_hint() -> None:
    with pytest.raises(AppError, match="limit of open files") as caught, store_errors("s-1"):
        raise OSError(errno.EMFILE, "Too many open files")
    assert "ulimit" in caught.value.hint


@pytest.mark.req("H13", "R5")
@pytest.mark.report("anthropics/claude-code#89879")
@pytest.mark.parametrize(
    ("number", "step"),
    [
        (errno.ENOSPC, "free some space"),
        (errno.EDQUOT, "free some space"),
        (errno.EROFS, "writable"),
        (errno.EACCES, "writable"),
        (errno.ENOTDIR, "set AGENT_LS_STATE_DIR"),
        (errno.EEXIST, "set AGENT_LS_STATE_DIR"),
    ],
)
def test_the_hint_of_data_that_cannot_be_stored_removes_the_cause(number: int, step: str) -> None:
    problem = OSError(number, os.strerror(number))
    with pytest.raises(AppError) as caught, store_errors("s-1"):
        raise problem
    for hint in (caught.value.hint, not_stored("the decision", problem).hint):
        assert step in hint and ("writable" in hint) == (step == "writable")
