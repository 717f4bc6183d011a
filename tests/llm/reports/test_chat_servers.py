"""Reports of users about the streams of Chat Completions servers, each in its smallest form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pytest

from agent_ls.llm import errors as e
from tests.llm.providers.test_chat_stream import call, chunk, wire
from tests.llm.reports.chat import ASK, answer, calls_of, codec, pieces
from tests.support.codec_runs import events_of, response_of
from tests.support.reports import reported

CALLS: list[Any] = [
    reported(
        "router-for-me/CLIProxyAPI#5058",
        [
            pieces(
                call(None, None, "read", '{"path": "a"}'),
                call(None, None, "list", "{}"),
                call(None, None, "read", '{"path": "b"}'),
            )
        ],
        [("read", '{"path": "a"}'), ("list", "{}"), ("read", '{"path": "b"}')],
        id="calls in one delta without index",
    ),
    reported("jin-bo/agentao#117",
        [call(None, None, "read", '{"city": "Paris"}'), call(None, None, "get_time", '{"tz": "JST"}')],
        [("read", '{"city": "Paris"}'), ("get_time", '{"tz": "JST"}')], id="calls in deltas without index and id"),
    reported("huggingface/smolagents#1958",
        [call(0, "c", "read", '{"q": "Emma Bull"}'), call(0, "c", "read", '{"q": "Virginia Woolf"}')],
        [("read", '{"q": "Emma Bull"}'), ("read", '{"q": "Virginia Woolf"}')], id="same index and id"),
    reported("earendil-works/pi#8861",
        [call(0, "call_a", "get_time", '{"city":"paris"}'), call(0, "call_b", "read", '{"city":"rome"}')],
        [("get_time", '{"city":"paris"}'), ("read", '{"city":"rome"}')], id="same index, other id"),
    reported("dirac-run/dirac#215",
        [call(0, "c", "read", ""), call(1, None, "", '{"path"'), call(2, None, "", ': "a"}')],
        [("read", '{"path": "a"}')], id="index counts pieces"),
    reported("microsoft/foundry-local#372", [call(1, "c", "read", '{"path": "a"}')], [("read", '{"path": "a"}')],
        id="first index 1"),
    reported(
        "maximhq/bifrost#1829",
        [
            pieces(call(None, "c1", "read", '{"p'), call(None, "c2", "list", '{"p')),
            pieces(call(None, "c1", "", '": 1}'), call(None, "c2", "", '": 2}')),
        ],
        [("read", '{"p": 1}'), ("list", '{"p": 2}')],
        id="interleaved without index",
    ),
    pytest.param([call(0, "c", "read", "{}"), call(0, "c", "", '{"path": "a"}')], [("read", '{"path": "a"}')],
        id="{} first"),
    pytest.param([call(0, "c", "read", "{}"), call(0, "c", "read", '{"path": "a"}')], [("read", '{"path": "a"}')],
        id="{} first, name again"),
    pytest.param([call(0, "c", "read", '{"a": 1}'), call(0, "c", "read", '{"a": 1}')], [("read", '{"a": 1}')],
        id="repeated at the end"),
    pytest.param([call(0, "c", "read", '{"a"'), call(0, "c", "read", ": 1}")], [("read", '{"a": 1}')],
        id="name in each piece"),
    pytest.param([call(0, "c", "get_", ""), call(0, "c", "time", ""), call(0, None, "", "{}")], [("get_time", "{}")],
        id="name in pieces"),
    pytest.param([call(0, "c", "read", '{"a"'), call(0, "c", "", '{"a": 1'), call(0, "c", "", '{"a": 1}')],
        [("read", '{"a": 1}')], id="cumulative"),
    pytest.param([call(None, None, "list", ""), call(None, None, "read", '{"a": 1}')],
        [("list", "{}"), ("read", '{"a": 1}')], id="no arguments, then another"),
    pytest.param([{"tool_calls": {"index": 0, "id": "c", "function": {"name": "list", "arguments": {}}}}],
        [("list", "{}")], id="one call instead of a list"),
    pytest.param([{"tool_calls": None, "content": None}, call(0, "c", "list", {"a": 1})], [("list", '{"a":1}')],
        id="null and object"),
]  # fmt: skip


@pytest.mark.req("U3")
@pytest.mark.parametrize(("deltas", "expected"), CALLS)
def test_calls_are_told_apart_whatever_index_and_id_say(
    deltas: Sequence[Any], expected: list[tuple[str, str]]
) -> None:
    response = answer(*map(chunk, deltas), chunk(finish="tool_calls"))
    assert calls_of(response) == expected
    ids = [part.id for part in response.tool_calls]
    assert response.finish_reason.kind == "tool_calls" and all(ids)


ENDS: list[Any] = [
    reported("ollama/ollama#4357", "", "stop", id="empty"),
    reported("vllm-project/vllm#27572", None, "stop", id="null"),
    pytest.param("MAX_TOKENS", "length", id="upper case"),
    pytest.param("network_error", "error", id="network_error"),
    pytest.param("model_context_window_exceeded", "length", id="window"),
    pytest.param("sensitive", "content_filter", id="sensitive"),
    pytest.param("end_turn", "stop", id="end_turn"),
]


@pytest.mark.parametrize(("finish", "kind"), ENDS)
def test_odd_finish_reasons_end_the_answer(finish: str | None, kind: str) -> None:
    assert answer(chunk({"content": "Hi"}, finish)).finish_reason.kind == kind


@pytest.mark.report("higress-group/higress#3506")
def test_the_stop_reason_of_anthropic_in_a_chat_stream_runs_the_call() -> None:
    assert answer(chunk(call(0, "c", "list", "{}"), "tool_use")).finish_reason.kind == "tool_calls"


@pytest.mark.report("damianvtran/local-operator#223")
def test_an_error_beside_a_choice_ends_the_answer_with_its_words() -> None:
    broken = chunk({"content": ""}, "error", error={"code": 502, "message": "Network connection lost"})
    with pytest.raises(e.ServerError, match="Network connection lost"):
        answer(chunk({"content": "Hal"}), broken)


@pytest.mark.report("diegosouzapw/OmniRoute#8210")
def test_an_error_beside_empty_choices_is_no_empty_answer() -> None:
    event = {
        "choices": [],
        "error": {
            "code": 502,
            "message": "request limit reached",
            "metadata": {"error_type": "provider_unavailable"},
        },
    }
    with pytest.raises(e.ProviderError, match="request limit reached") as raised:
        answer(event)
    assert raised.value.retryable


TEXTS: list[Any] = [
    pytest.param([chunk({"content": [{"type": "text", "text": "Hi"}]}, "stop")], "Hi", "", id="list of parts"),
    pytest.param([chunk({"content": "<think>hm</think>Hi"}, "stop")], "Hi", "hm", id="think tags"),
    pytest.param([chunk({"content": {"type": "text", "text": "Hi"}}, "stop")], "Hi", "", id="one part"),
    pytest.param(
        [
            chunk(
                {"content": [{"type": "thinking", "thinking": "hm"}, {"type": "text", "text": "Hi"}]}, "stop"
            )
        ],
        "Hi",
        "hm",
        id="thinking as text",
    ),
    pytest.param([chunk({"reasoning": "hm", "reasoning_content": "hm"}), chunk({"content": "Hi"}, "stop")], "Hi",
        "hm", id="two fields, one reasoning"),
    pytest.param([chunk({"role": "assistant", "content": "H"}), chunk({"role": "assistant", "content": "i"}, "stop")],
        "Hi", "", id="role in each delta"),
    pytest.param([{"choices": [{"message": {"role": "assistant", "content": "Hi"}, "finish_reason": "stop"}]}], "Hi",
        "", id="message in a stream"),
    pytest.param(
        [
            chunk({"content": "Hi"}),
            {"choices": [{"delta": {}, "message": {"content": "Hi"}, "finish_reason": "stop"}]},
        ],
        "Hi",
        "",
        id="message repeated at the end",
    ),
    pytest.param([chunk({"content": "Hi"}, "stop"), {"choices": [], "usage": None}], "Hi", "", id="usage null"),
    pytest.param([chunk({"content": "Hi"}, "stop"), {"choices": None, "usage": {"prompt_tokens": 1}}], "Hi", "",
        id="choices null with usage"),
    pytest.param([{"choices": [], "prompt_filter_results": []}, chunk({"content": "Hi"}, "stop")], "Hi", "",
        id="first event of Azure"),
]  # fmt: skip


@pytest.mark.req("U2")
@pytest.mark.parametrize(("chunks", "text", "thought"), TEXTS)
def test_texts_and_reasoning_of_all_forms_are_read_once(
    chunks: Sequence[Any], text: str, thought: str
) -> None:
    response = answer(*chunks)
    assert (response.text, response.reasoning) == (text, thought)


@pytest.mark.parametrize(
    ("opening", "closing"),
    [
        ("<think>", "</think>"),
        ("<thinking>", "</thinking>"),
        ("[THINK]", "[/THINK]"),
        ("<seed:think>", "</seed:think>"),
    ],
)
def test_marks_of_reasoning_in_the_text_are_read(opening: str, closing: str) -> None:
    pieces_ = [chunk({"content": piece}) for piece in f"{opening}hm{closing}Hi"]
    response = answer(*pieces_, chunk(finish="stop"))
    assert (response.text, response.reasoning) == ("Hi", "hm")


@pytest.mark.parametrize(
    "name", ["functions.read", "default_api:read", "read<|channel|>commentary", " read\n", "read"]
)
def test_a_name_with_a_namespace_or_a_special_token_means_the_offered_tool(name: str) -> None:
    assert calls_of(answer(chunk(call(0, "c", name, "{}"), "tool_calls"))) == [("read", "{}")]


def test_usage_inside_a_choice_is_read() -> None:
    last = {"choices": [{"delta": {}, "finish_reason": "stop", "usage": {"prompt_tokens": 7}}]}
    assert answer(chunk({"content": "Hi"}), last).usage.input_tokens == 7


FORMS: dict[str, Callable[[bytes], bytes]] = {
    "data without blank": lambda data: data.replace(b"data: ", b"data:"),
    "CRLF": lambda data: data.replace(b"\n", b"\r\n"),
    "BOM": lambda data: b"\xef\xbb\xbf" + data,
    "comments": lambda data: b": OPENROUTER PROCESSING\n\n" + data.replace(b"\n\n", b"\n\n: ping\n\n"),
    "ids and retry": lambda data: data.replace(b"data: ", b"id: 1\nretry: 5\ndata: "),
    "keep-alives": lambda data: b"data: null\n\n" + data,
}


@pytest.mark.report("openai/openai-go#227")
@pytest.mark.parametrize("form", FORMS)
def test_streams_in_all_forms_of_the_format_are_read(form: str) -> None:
    data = FORMS[form](wire(chunk({"content": "Hi"}), chunk(finish="stop")))
    assert events_of(codec(), [data], ASK)
    assert response_of(codec(), data, ASK).text == "Hi"
