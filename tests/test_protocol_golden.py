"""The golden messages in the clients' tests are messages of this server."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, get_args

import pytest

from agent_ls.loop.events.codec import DELTA_KINDS, decode, encode
from agent_ls.loop.events.types import RecordedEvent
from agent_ls.server import protocol
from agent_ls.server.rpc import to_wire

GOLDEN = Path(__file__).parent / "golden" / "protocol"

RESULTS: dict[str, type[protocol.Wire]] = {
    "agent/newSession": protocol.SessionResult,
    "agent/sessions": protocol.SessionsResult,
    "agent/bringChanges": protocol.BringChangesResult,
    "agent/memory": protocol.MemoryResult,
    "agent/subscribe": protocol.SubscribeResult,
    "agent/unsubscribe": protocol.Empty,
    "agent/history": protocol.HistoryResult,
    "agent/commitMessage": protocol.CommitMessageResult,
    "agent/draft": protocol.Empty,
    "agent/queue": protocol.Empty,
    "agent/compact": protocol.CompactResult,
    "agent/rename": protocol.SessionResult,
    "agent/fork": protocol.SessionResult,
    "agent/revert": protocol.RevertResult,
    "agent/takeOver": protocol.SessionResult,
    "agent/closeSession": protocol.Empty,
    "agent/deleteSession": protocol.Empty,
    "agent/export": protocol.ExportResult,
    "agent/output": protocol.OutputResult,
    "agent/submit": protocol.SubmitResult,
    "agent/steer": protocol.SteerResult,
    "agent/unsteer": protocol.Empty,
    "agent/followUp": protocol.FollowUpResult,
    "agent/interrupt": protocol.Empty,
    "agent/abort": protocol.Empty,
    "agent/configure": protocol.ConfigureResult,
    "agent/acceptPlan": protocol.AcceptPlanResult,
    "agent/approve": protocol.ApproveResult,
    "agent/answer": protocol.AnswerResult,
    "agent/rules": protocol.RulesResult,
    "agent/removeRule": protocol.RemoveRuleResult,
    "agent/trust": protocol.TrustResult,
    "agent/hunks": protocol.HunksResult,
    "agent/looked": protocol.Empty,
    "agent/blame": protocol.BlameResult,
    "agent/review": protocol.ReviewResult,
    "workspace/textDocumentContent": protocol.TextDocumentContentResult,
    "agent/terminals": protocol.TerminalsResult,
    "agent/terminalKill": protocol.Empty,
    "agent/terminalInput": protocol.Empty,
    "agent/terminalResize": protocol.Empty,
    "agent/terminalOutput": protocol.TerminalOutputResult,
    "agent/clientAnswer": protocol.Empty,
    "agent/setCredential": protocol.CredentialResult,
    "agent/models": protocol.ModelsResult,
    "agent/mcpServers": protocol.McpServersResult,
    "agent/mcpSwitch": protocol.Empty,
    "agent/commands": protocol.CommandsResult,
    "agent/complete": protocol.CompleteResult,
}


def read(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = json.loads((GOLDEN / name).read_text(encoding="utf-8"))
    return loaded


SESSION: list[dict[str, Any]] = read("session.json")["events"]
REQUESTS: list[dict[str, Any]] = read("requests.json")["requests"]
PARAMS = {cls.method: cls for cls in protocol.Params.__subclasses__()}


def without_uris(value: Any) -> Any:
    """Return the message without URIs. The codec does not write them; the server adds them when it sends a message."""
    if isinstance(value, dict):
        return {key: without_uris(inner) for key, inner in value.items() if key != "uri"}
    return [without_uris(inner) for inner in value] if isinstance(value, list) else value


@pytest.mark.req("E2", "H3")
def test_each_golden_event_is_decoded_and_encoded_to_the_same_message() -> None:
    for message in SESSION:
        envelope = decode(json.dumps(message).encode())
        assert envelope is not None, message
        assert json.loads(encode(envelope)) == without_uris(message)


@pytest.mark.req("E1")
def test_every_kind_of_event_has_a_golden_message() -> None:
    kinds = {cls.kind for cls in get_args(RecordedEvent)} | DELTA_KINDS

    assert {message["kind"] for message in SESSION} == kinds


def test_every_request_has_a_golden_example() -> None:
    assert {example["method"] for example in REQUESTS} == set(PARAMS)


@pytest.mark.req("H2")
def test_each_golden_request_and_its_result_are_fully_understood_by_the_server() -> None:
    for example in REQUESTS:
        method, result = example["method"], example["result"]
        params = PARAMS[method].model_validate(example["params"])
        assert params.model_dump(mode="json", by_alias=True, exclude_unset=True) == example["params"], method
        if result is not None:
            assert json.loads(to_wire.encode_result(RESULTS[method].model_validate(result))) == result, method


@pytest.mark.req("T14", "H9")
@pytest.mark.parametrize(
    ("what", "cls"),
    [
        ("definition", protocol.CodeLocations),
        ("symbols", protocol.CodeSymbols),
        ("rename", protocol.RenameEdits),
        ("hover", protocol.HoverTexts),
        ("calls", protocol.CodeCalls),
        ("actions", protocol.CodeActions),
        ("actionEdits", protocol.ActionEdits),
    ],
)
def test_server_decodes_every_field_of_the_golden_language_responses(
    what: str, cls: type[protocol.Wire]
) -> None:
    answer = read("language.json")["answers"][what]

    assert cls.model_validate(answer).model_dump(mode="json", by_alias=True, exclude_unset=True) == answer


@pytest.mark.req("H3")
@pytest.mark.parametrize("case", read("folds.json")["cases"], ids=lambda c: c["name"])
def test_messages_of_a_golden_fold_are_messages_of_the_server(case: dict[str, Any]) -> None:
    for step in case["steps"]:
        if "subscribed" in step:
            protocol.SubscribeResult.model_validate(step["subscribed"])
        messages = step["subscribed"]["events"] if "subscribed" in step else [step["event"]]
        decoded = [decode(json.dumps(message).encode()) for message in messages]
        assert all(decoded) or messages[0]["kind"] == "from_the_future"
