"""Calls that a server left in the text or in the reasoning, in the forms that users reported."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.llm.providers.test_chat_stream import chunk, wire
from tests.llm.reports.chat import ASK, answer, codec
from tests.support.codec_runs import response_of
from tests.support.reports import reported

ARGS = '{"path": "a.py"}'
JSON = f'{{"name": "read", "arguments": {ARGS}}}'
PARAMETER = '<parameter name="path">a.py</parameter>'
READ = ("read", {"path": "a.py"})
D, D2, M3 = "｜DSML｜", "｜｜DSML｜｜", "]<]minimax[>["
DSML = f'<{D}invoke name="read">\n<{D}parameter name="path" string="true">a.py</{D}parameter>\n</{D}invoke>'


DIALECTS: list[Any] = [
    reported("lmstudio-ai/lmstudio-bug-tracker#1979", '<|tool_call_start|>[read(path="a.py")]<|tool_call_end|>',
        id="LFM"),
    reported("lmstudio-ai/lmstudio-bug-tracker#1177",
        f'[TOOL_CALL] {{ "tool": "read", "args": {ARGS} }} [/TOOL_CALL]', id="MiniMax, old"),
    reported("NousResearch/hermes-agent#35935",
        '[TOOL_CALL]\n{tool => "read", args => {\n  --path "a.py"\n}}\n[/TOOL_CALL]', id="MiniMax, arrows"),
    reported("lmstudio-ai/lmstudio-bug-tracker#2115",
        "<tool_call>\n<function=read>\n<parameter=path>\na.py\n</parameter>\n</function>\n</tool_call>",
        id="Qwen Coder"),
    pytest.param(
        "<tool_call>read<arg_key>path</arg_key><arg_value>a.py</arg_value></tool_call>\n"
        "<tool_call>read\n<arg_key>path</arg_key>\n<arg_value>a.py</arg_value>\n</tool_call>",
        marks=pytest.mark.report("lmstudio-ai/lmstudio-bug-tracker#1528"),
        id="GLM"
    ),
    pytest.param(
        "<|tool_calls_section_begin|><|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>"
        f"{ARGS}<|tool_call_end|><|tool_calls_section_end|>",
        marks=pytest.mark.report("NousResearch/hermes-agent#24534"),
        id="Kimi"
    ),
    reported("lablup/mlxcel#654",
        f"<|channel|>commentary to=functions.read <|constrain|>json<|message|>{ARGS}<|call|>", id="gpt-oss"),
    reported("waybarrios/vllm-mlx#562",
        f"<|start|>assistant<|channel|>analysis to=functions.read code<|message|>\n{ARGS}<|call|>",
        id="gpt-oss, analysis"),
    pytest.param(f'<minimax:tool_call>\n  <invoke name="read">\n    {PARAMETER}\n  </invoke>\n</minimax:tool_call>',
        id="MiniMax"),
    reported("vllm-project/vllm#32926", f"<tools>\n{JSON}\n</tools>", id="Qwen2.5-Coder"),
    reported("selfagency/opilot#149", f"{JSON}\n{JSON}", id="JSON objects"),
    reported("ggml-org/llama.cpp#14697",
        f'{{\n  "tool_calls": [\n    {{"name": "read", "arguments": {ARGS}, "id": "162875335"}}\n  ]\n}}',
        id="field as text"),
    reported("ggml-org/llama.cpp#22786", '<|tool_call>call:read{path:<|"|>a.py<|"|>}<tool_call|>', id="Gemma"),
    pytest.param(f"[TOOL_REQUEST]\n{JSON}\n[END_TOOL_REQUEST]", id="LM Studio"),
    pytest.param(f"[TOOL_CALLS]read[ARGS]{ARGS}", id="Mistral"),
    pytest.param(f"<TOOLCALL>[{JSON}]</TOOLCALL>", id="Nemotron"),
    pytest.param(f"<|tool_call|>[{JSON}]", id="Granite"),
    pytest.param(f"functools[{JSON}]", id="Phi"),
    pytest.param(f"<function_calls><invoke name=\"read\">{PARAMETER}</invoke></function_calls>", id="invoke"),
    pytest.param(
        '<｜DSML｜function_calls>\n<｜DSML｜invoke name="read">\n<｜DSML｜parameter name="path" string="true">a.py'
        "</｜DSML｜parameter>\n</｜DSML｜invoke>\n</｜DSML｜function_calls>",
        id="DeepSeek 3.2",
    ),
    pytest.param(
        f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json\n{ARGS}\n```"
        "<｜tool▁call▁end｜><｜tool▁calls▁end｜>",
        id="DeepSeek R1",
    ),
    pytest.param(f"<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>read<｜tool▁sep｜>{ARGS}<｜tool▁call▁end｜>",
        id="DeepSeek 3.1"),
    pytest.param(f'<|START_ACTION|>[{{"tool_call_id": "0", "tool_name": "read", "parameters": {ARGS}}}]<|END_ACTION|>',
        id="Command R"),
    pytest.param("<seed:tool_call><function=read><parameter=path>a.py</parameter></function></seed:tool_call>",
        id="Seed"),
    pytest.param(f"<function=read={ARGS}</function>", id="Llama at Groq"),
    pytest.param(f"<function=read{ARGS}</function>", id="Llama at Groq, no mark"),
    pytest.param(f'<|action_start|><|plugin|>\n{{"name": "read", "parameters": {ARGS}}}<|action_end|>', id="InternLM"),
    pytest.param('[read(path="a.py")]', id="Python"),
    pytest.param(f"<tool_call>\n{JSON[:-1]}\n</tool_call>", id="last bracket missing"),
    pytest.param(f"<tool_call>\n{JSON}\n</tool_call><|im_end|>", id="end of turn"),
    reported("cline/cline#14156", f"<{D}tool_calls>\n{DSML}\n</{D}tool_calls>", id="DeepSeek V4"),
    reported("vllm-project/vllm#48931", f"{DSML}\n</{D}tool_calls>", id="DeepSeek V4, no first tag"),
    reported("tinyhumansai/tinyagents#151", f'<{D2} calls><{D2} invoke name="read">{ARGS}</{D2} parameter>'
        f"</{D2} invoke></{D2} calls>", id="DeepSeek V4, JSON"),
    pytest.param(f"<||DSML||tool_calls>\n{DSML.replace(D, '||DSML||')}\n</||DSML||tool_calls>", id="DeepSeek V4, bars"),
    pytest.param(f"< | DSML | tool_use>\n{DSML.replace(D, ' | DSML | ')}\n</ | DSML | tool_use>",
        id="DeepSeek V4, spaces"),
    reported("google/adk-python#5654", "<｜tool▁calls▁begin｜><｜tool▁call▁begin｜>function<｜tool▁sep｜>read\n```json"
        f"\n{ARGS}\n```<｜tool▁call▁end｜><｜tool▁calls▁end｜>", id="DeepSeek V3"),
    reported("ROCm/ATOM#1443", f'{M3}<tool_call>\n{M3}<invoke name="read">{M3}<path>a.py{M3}</path>{M3}</invoke>\n'
        f"{M3}</tool_call>", id="MiniMax M3"),
]  # fmt: skip


@pytest.mark.req("P5")
@pytest.mark.parametrize("place", ["content", "after a sentence", "reasoning_content"])
@pytest.mark.parametrize("text", DIALECTS)
def test_calls_in_the_form_of_any_model_run(text: str, place: str) -> None:
    if place == "after a sentence" and text.startswith(("{", "[read")):
        pytest.skip("JSON after a sentence is an example")
    if place == "reasoning_content" and text.startswith(("{", "[read")):
        pytest.skip("reasoning may contain JSON")
    key = "content" if place == "after a sentence" else place
    said = f"I look.\n\n{text}" if place == "after a sentence" else text
    response = answer(
        *(chunk({key: said[at : at + 7]}) for at in range(0, len(said), 7)), chunk(finish="stop")
    )
    calls = [(call.name, json.loads(call.arguments)) for call in response.tool_calls]
    assert calls and set(map(str, calls)) == {str(READ)}
    assert response.finish_reason.kind == "tool_calls"
    assert response.text.strip() == ("I look." if place == "after a sentence" else "")


@pytest.mark.report("vybestack/llxprt-code#749")
def test_a_call_at_the_end_of_reasoning_runs_if_nothing_else_was_said() -> None:
    call = f"<|tool_call_begin|>functions.read:0<|tool_call_argument_begin|>{ARGS}<|tool_call_end|>"
    thought = f"I need the file.\n{call}"
    assert answer(chunk({"reasoning_content": thought}, "stop")).tool_calls
    answered = answer(chunk({"reasoning_content": thought}), chunk({"content": "Done."}, "stop"))
    assert not answered.tool_calls and answered.text == "Done."


@pytest.mark.parametrize("mark", ["invoke", "calls"])
def test_a_quoted_tag_is_no_call(mark: str) -> None:
    told = f'The form is `<{D}{mark} name="read">`, then parameters.'
    response = answer(chunk({"content": f"<mm:think>Hm.</mm:think>{told}"}, "stop"))
    assert (response.text, response.reasoning, response.tool_calls) == (told, "Hm.", ())


UNOPENED: list[Any] = [
    reported("vllm-project/vllm#31045", "It is 2.\n</think>\n\nTwo.", id="own line"),
    reported("perplexityai/api-discussion#177", "It is 2.</think>\n\nTwo.", id="end of a line"),
]


@pytest.mark.req("U4")
@pytest.mark.parametrize("text", UNOPENED)
def test_reasoning_without_an_opening_tag_is_known_from_the_second_answer_on(text: str) -> None:
    server = codec()
    pieces = [*(chunk({"content": text[at : at + 3]}) for at in range(0, len(text), 3)), chunk(finish="stop")]
    first = response_of(server, wire(*pieces), ASK)
    assert "</think>" not in first.text and first.text.endswith("Two.")
    second = response_of(server, wire(*pieces), ASK)
    assert (second.text, second.reasoning.strip()) == ("Two.", "It is 2.")
    plain = response_of(server, wire(chunk({"content": "Only an answer."}, "stop")), ASK)
    assert plain.text == "Only an answer."


@pytest.mark.parametrize(
    "text", ["The tag `</think>` ends it.", "```\n</think>\n```", "Write </think> here.", "a </thin"]
)
def test_a_quoted_closing_tag_stays_in_the_text(text: str) -> None:
    assert answer(*(chunk({"content": char}) for char in text), chunk(finish="stop")).text == text
