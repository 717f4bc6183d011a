"""Reports on streams, counts, printed calls and lists of models."""

from __future__ import annotations

import json
from typing import Any

import pytest

from agent_ls.llm import errors as e
from agent_ls.llm.providers.base import ListedModel
from agent_ls.llm.providers.model_lists import listed_models
from tests.llm.providers.test_anthropic_stream import block, end, text_block
from tests.llm.providers.test_gemini_stream import chunk as gemini_chunk
from tests.llm.providers.test_openai_stream import CREATED, added, done, final
from tests.llm.reports.chat import answer as chat_answer, codec
from tests.llm.reports.test_anthropic import answer as anthropic_answer, sent_back
from tests.llm.reports.test_broken_streams import call_piece, piece, said
from tests.llm.reports.test_gemini import answer as gemini_answer
from tests.llm.reports.test_responses import answer as responses_answer
from tests.support.reports import reported

STOP = {"choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}]}
ENDS = {"choices": [{"index": 0, "delta": {}, "finish_reason": "tool_calls"}]}


def ended(reason: Any, **delta: Any) -> Any:
    return {"choices": [{"index": 0, "delta": delta, "finish_reason": reason}]}


D, D2 = "｜DSML｜", "｜｜DSML｜｜"
PATH = f'<{D}parameter name="path" string="true">a.py</{D}parameter>'
INVOKE = f'<{D}invoke name="read">\n{PATH}\n</{D}invoke>'
READ = ("read", {"path": "a.py"})
JSON_CALL = '{"name": "read", "arguments": {"path": "a.py"}}'
PRINTED: list[Any] = [
    reported("sgl-project/sglang#40236", f"I look.\n\n{INVOKE}", "I look.", id="no section"),
    pytest.param(f"<{D}tool_calls>\n{INVOKE}", "", id="open section"),
    pytest.param(f"<{D}function_calls>\n{INVOKE}\n</{D}function_calls>", "", id="other name"),
    reported("OpenHands/software-agent-sdk#4845",
        f"<{D2}r=read>\n<parameter=path>a.py</parameter>\n<{D2}m>", "", id="compact"),
    reported("docker/docker-agent#2263",
        "<function=read>\n<parameter=path> a.py </parameter>\n</function> </tool_call>", "", id="no first tag"),
    reported("izaart95-jpg/GLM-Free-API#44",
        f"TOOL_CALL_BLOCK>>>\n{JSON_CALL}\n<<<END_TOOL_CALL_BLOCK>>>", "", id="renamed marks"),
    reported("NousResearch/hermes-agent#742", f"<think>hm</think>{JSON_CALL}</tool_call>", "", id="after thinking"),
    reported("NousResearch/hermes-agent#1883",
        "<tool_use>\n<parameter=tool_name>read</parameter>\n<parameter=path>a.py</parameter>\n</tool_use>", "",
        id="name as a parameter"),
    ("<tool_call>\n<parameter=name>read</parameter>\n<parameter=path>\na.py\n</parameter>\n</tool_call>", ""),
    ("<function=read>\n<parameter=path>\na.py\n</function>", ""),
    (f"<<<TOOL_CALL>>>\n{JSON_CALL}\n<<<END_TOOL_CALL>>>", ""),
    (f"[[TOOL_CALL_BEGIN]]{JSON_CALL}[[TOOL_CALL_END]]", ""),
    (f"TOOL_CALL: {JSON_CALL}", ""),
]  # fmt: skip


@pytest.mark.parametrize(("text", "before"), PRINTED)
def test_a_printed_call_is_read(text: str, before: str) -> None:
    response = chat_answer(*(piece(content=text[at : at + 7]) for at in range(0, len(text), 7)), STOP)
    assert (response.text.strip(), said(response)[1]) == (before, [READ])


def test_a_parameter_without_its_end_does_not_lose_the_next() -> None:
    text = "<function=read>\n<parameter=path>\na.py\n<parameter=limit>\n5\n</parameter>\n</function>"
    assert said(chat_answer(piece(content=text), STOP))[1] == [("read", {"path": "a.py", "limit": 5})]


SPACED: list[Any] = [
    ("<parameter=old> and </parameter>\n<parameter=path>a.py</parameter>", {"old": " and ", "path": "a.py"}),
    ("<parameter=old>\n  a\n</parameter>", {"old": "  a"}),
    ("<parameter=old>x <parameter=y> z</parameter>", {"old": "x <parameter=y> z"}),
]


@pytest.mark.parametrize(("text", "arguments"), SPACED)
def test_spaces_and_tags_within_a_parameter_are_kept(text: str, arguments: Any) -> None:
    response = chat_answer(piece(content=f"<function=read>\n{text}\n</function>"), STOP)
    assert said(response)[1] == [("read", arguments)]


def test_a_parameter_that_was_cut_is_no_parameter() -> None:
    response = chat_answer(piece(content="<function=read>\n<parameter=path>\na.p"), ended("length"))
    assert not response.tool_calls


@pytest.mark.report("HKUDS/DeepTutor#799")
def test_a_printed_call_after_a_text_is_read_by_anthropics_api() -> None:
    text = f"Great job!\n\n<{D}tool_calls>\n{INVOKE.replace('read', 'f')}\n</{D}tool_calls>"
    response = anthropic_answer(*text_block(0, text), *end())
    assert (response.text.strip(), said(response)[1]) == ("Great job!", [("f", {"path": "a.py"})])


MARKED: list[Any] = [
    reported(
        "earendil-works/pi#3712",
        f"<{D}tool_calls\n",
        "",
    ),
    ("<tool_call>\n", ""),
    ("[TOOL_CALLS]", ""),
    ("<|tool_calls_section_begin|>", ""),
    ("<minimax:tool_call>\n", ""),
    ("<function_calls>\n\n", ""),
    ("<tool_call> is a tag.", "<tool_call> is a tag."),
]


@pytest.mark.parametrize(("mark", "shown"), MARKED)
def test_a_mark_beside_a_call_is_not_shown(mark: str, shown: str) -> None:
    response = chat_answer(piece(content=f"I look.\n\n{mark}"), call_piece(0, "c", "read", "{}"), ENDS)
    assert (response.text.split(), said(response)[1]) == (["I", "look.", *shown.split()], [("read", {})])


@pytest.mark.report("Gitlawb/openclaude#1508")
def test_a_printed_call_without_a_name_is_no_call_of_a_tool() -> None:
    text = (
        '<|tool_calls_section_begin|><|tool_call_begin|>call_0<|tool_call_argument_begin|>{"path": "a.py"}'
        "<|tool_call_end|><|tool_calls_section_end|>"
    )
    response = chat_answer(piece(content=text), STOP)
    assert not response.tool_calls
    assert "tool_call" in response.text


CALLS: list[Any] = [
    reported("BerriAI/litellm#12862",
        [call_piece(0, "c", "read", '{"path": "a.py"}'), STOP], [READ]),
    reported("MiaAI-Lab/GLM-5.3-Flash-EXL3-2x-DGX-Sparks#177",
        [call_piece(0, "c", "read", '{"path": '),
            ended("stop", tool_calls=[{"index": 0, "function": {"arguments": '"a.py"}'}}])], [READ]),
    reported("vllm-project/vllm#15274", [call_piece(0, "c", "read", '{"path": "a.py"}'),
        call_piece(0, None, None, "}"), ENDS], [READ]),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "calls"), CALLS)
def test_calls_are_read(chunks: list[Any], calls: Any) -> None:
    response = chat_answer(*chunks)
    assert (said(response)[1], response.finish_reason.kind) == (calls, "tool_calls")


UNENDED: list[Any] = [
    reported("vllm-project/vllm#57699", '{"path":'),
    reported(
        "vllm-project/vllm#45256",
        '{"path": "a.py"',
    ),
]


@pytest.mark.parametrize("arguments", UNENDED)
def test_arguments_that_do_not_end_are_not_completed(arguments: str) -> None:
    response = chat_answer(call_piece(0, "c", "read", arguments), ENDS)
    assert [part.arguments for part in response.tool_calls] == [arguments]


LONG = "The answer is a sentence of some length, so that it can be told apart."
TEXTS: list[Any] = [
    reported("dirac-run/dirac#227", [piece(role="assistant", content="", reasoning="We"),
        piece(content="", reasoning=" need"), piece(content="Yes."), STOP], "Yes.", "We need"),
    reported("laravel/ai#813", [piece(content="", reasoning="We", reasoning_content="We",
        reasoning_details=[{"type": "reasoning.text", "text": "We", "index": 0}]), piece(content="Yes."), STOP],
        "Yes.", "We"),
    reported("vllm-project/vllm#36944", [piece(content="Ye"), ended("stop", content="s.")], "Yes.", ""),
    reported("farion1231/cc-switch#5093", [ended("", reasoning_content="We"), ended("", content="Yes."), STOP], "Yes.",
        "We"),
    reported("perplexityai/api-discussion#209", [
        {"choices": [{"index": 0, "delta": {"content": LONG[a:b]}, "finish_reason": reason,
            "message": {"role": "assistant", "content": LONG[:b]}}]}
        for a, b, reason in ((0, 20, None), (20, 40, None), (40, 99, "stop"))], LONG, ""),
    reported("earendil-works/pi#7441", [piece(content="Yes."),
        {"choices": [], "usage": {"prompt_tokens": 10, "completion_tokens": 5}}], "Yes.", ""),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "text", "reasoning"), TEXTS)
def test_text_and_reasoning_are_read_once(chunks: list[Any], text: str, reasoning: str) -> None:
    response = chat_answer(*chunks)
    assert (response.text, response.reasoning, response.finish_reason.kind) == (text, reasoning, "stop")


@pytest.mark.report("its-a-unixsystem/STcli#60")
def test_an_answer_that_ends_within_its_reasoning_is_cut() -> None:
    response = chat_answer(piece(reasoning="We need"), ended("length"))
    assert (response.text, response.reasoning, response.finish_reason.kind) == ("", "We need", "length")


USAGE: list[Any] = [
    reported("open-webui/open-webui#29064", [(20, 1), (20, 2), (20, 3)], (20, 3)),
    reported("InsForge/InsForge#2015", [(10, 0), (10, 40), (10, 90)], (10, 90)),
]  # fmt: skip


@pytest.mark.parametrize(("counts", "last"), USAGE)
def test_counts_of_each_event_are_sums(counts: list[tuple[int, int]], last: tuple[int, int]) -> None:
    chunks = [
        {**piece(content="a"), "usage": {"prompt_tokens": i, "completion_tokens": o}} for i, o in counts
    ]
    usage = chat_answer(*chunks, STOP).usage
    assert (usage.input_tokens, usage.output_tokens) == last


@pytest.mark.report("farion1231/cc-switch#2557")
def test_a_call_that_begins_without_input_is_read() -> None:
    bare = {"type": "tool_use", "id": "toolu_1", "name": "f"}
    piece_of = {"type": "input_json_delta", "partial_json": '{"a": 1}'}
    response = anthropic_answer(
        {"type": "content_block_start", "index": 0, "content_block": bare},
        {"type": "content_block_delta", "index": 0, "delta": piece_of},
        {"type": "content_block_stop", "index": 0},
        *end("tool_use"),
    )
    assert said(response)[1] == [("f", {"a": 1})]
    assert [part["type"] for part in sent_back(response)] == ["tool_use"]


@pytest.mark.report("labring/aiproxy#604")
def test_a_text_that_begins_without_text_is_read() -> None:
    response = anthropic_answer(
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text"}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "hi"}},
        {"type": "content_block_stop", "index": 0},
        *end(),
    )
    assert response.text == "hi"


@pytest.mark.report("1Panel-dev/MaxKB#6683")
def test_a_streamed_call_is_sent_back_whole() -> None:
    use = {"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}
    deltas = [{"type": "input_json_delta", "partial_json": part} for part in ("", '{"a":', " 1}")]
    (sent_call,) = sent_back(anthropic_answer(*block(0, use, *deltas), *end("tool_use")))
    assert (sent_call["type"], sent_call["input"]) == ("tool_use", {"a": 1})


OUT = {"id": "m", "type": "message", "role": "assistant"}
PLACE = {"item_id": "m", "output_index": 0, "content_index": 0}


@pytest.mark.report("cita-777/metapi#174")
def test_a_last_event_without_output_keeps_the_streamed_text() -> None:
    text = {"type": "response.output_text.delta", **PLACE, "delta": "Hello"}
    assert responses_answer(CREATED, text, final(output=[])).text == "Hello"


@pytest.mark.report("router-for-me/CLIProxyAPI#4905")
def test_a_stream_of_responses_without_its_last_event_is_broken() -> None:
    text = {"type": "response.output_text.delta", **PLACE, "delta": "Hel"}
    with pytest.raises(e.StreamError):
        responses_answer(CREATED, added(0, {**OUT, "content": []}), text)


FAILED: list[Any] = [
    reported("microsoft/agent-framework-go#546",
        {"id": "r", "status": "failed", "error": {"code": "server_error", "message": "Internal error"}},
        "Internal error"),
    reported("bigduu/Bamboo-agent#405",
        {"status": "failed", "error": {"message": "upstream went away", "type": "api_error"}}, "upstream went away"),
]  # fmt: skip


@pytest.mark.parametrize(("response", "words"), FAILED)
def test_a_failed_response_is_an_error_in_its_words(response: Any, words: str) -> None:
    with pytest.raises(e.ProviderError, match=words) as caught:
        responses_answer(CREATED, {"type": "response.failed", "response": response})
    assert caught.value.retryable


@pytest.mark.report("vllm-project/vllm#35184")
def test_reasoning_whose_place_changes_with_each_event_is_one() -> None:
    place = {"type": "response.reasoning_text.delta", "item_id": "r", "output_index": 0}
    deltas = [
        {**place, "content_index": 36 + at, "delta": word}
        for at, word in enumerate(("a", " common", " word"))
    ]
    item = {"id": "r", "type": "reasoning", "summary": []}
    text = {
        "type": "response.output_text.delta",
        "item_id": "m",
        "output_index": 1,
        "content_index": 0,
        "delta": "Hi",
    }
    whole = {**item, "content": [{"type": "reasoning_text", "text": "a common word"}]}
    message = {**OUT, "content": [{"type": "output_text", "text": "Hi", "annotations": []}]}
    response = responses_answer(CREATED, added(0, item), *deltas, done(0, whole), added(1, {**OUT, "content": []}),
        text, done(1, message), final())  # fmt: skip
    assert (response.text, response.reasoning) == ("Hi", "a common word")


@pytest.mark.report("agentjido/req_llm#638")
def test_a_last_event_without_parts_ends_geminis_answer() -> None:
    counts = {"promptTokenCount": 3, "candidatesTokenCount": 2, "totalTokenCount": 5}
    response = gemini_answer(gemini_chunk({"text": "hi"}), {"candidates": [{"finishReason": "STOP"}],
        "usageMetadata": counts})  # fmt: skip
    assert (response.text, response.finish_reason.kind, response.usage.output_tokens) == ("hi", "stop", 2)


LISTS: list[Any] = [
    reported("ml-explore/mlx-lm#1184", {"id": "a", "object": "model", "created": 1, "context_length": 32768}, 32768),
    reported("tashfeenahmed/freellmapi#309", {"id": "auto", "context_window": None, "context_length": 131072}, 131072),
    reported("caozhiyuan/copilot-api#43",
        {"id": "a", "capabilities": {"type": "chat", "limits": {"max_context_window_tokens": 128000}}}, 128000),
    reported("alekk89/llama-cpp-windows-manager#16", {"id": "a", "model_id": "a", "profile_name": "Default"}, None),
]  # fmt: skip


@pytest.mark.parametrize(("row", "window"), LISTS)
def test_a_listed_model_has_its_window(row: Any, window: int | None) -> None:
    (model,) = listed_models(json.dumps({"object": "list", "data": [row]}).encode())
    assert model.context_window_tokens == window


@pytest.mark.report("lmstudio-ai/lmstudio-bug-tracker#2139")
def test_the_window_with_which_lm_studio_loaded_a_model_is_asked_for() -> None:
    speaker, models = codec("lmstudio"), [ListedModel("google/gemma-4-12b-qat")]
    (probe,) = speaker.describing_probes(models, "http://localhost:1234/v1")
    row = {"id": "google/gemma-4-12b-qat", "state": "loaded", "max_context_length": 262144,
        "loaded_context_length": 131072}  # fmt: skip
    (model,) = speaker.describe(models, probe, json.dumps({"data": [row]}).encode())
    assert model.context_window_tokens == 131072
