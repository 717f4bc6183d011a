"""Reports about model servers: budgets, odd arguments, counts, reasoning that comes twice, ids."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest
from pydantic import Field

from agent_ls.llm import errors as e
from agent_ls.llm.catalog import capabilities_lookup
from agent_ls.llm.messages import Message, Role, ToolCallPart, ToolResultPart, tool_results, user
from agent_ls.llm.providers.gemini import GeminiCodec
from agent_ls.llm.requests import Request, Response
from agent_ls.loop.calls.arguments import ArgumentsError, parse_arguments
from agent_ls.tools.base import Arguments
from tests.llm.providers.test_gemini_stream import STOP as GEMINI_STOP, chunk, replayed, wire
from tests.llm.providers.test_openai_stream import CREATED, added, delta, done, final
from tests.llm.reports.chat import TOOLS, answer, codec, say
from tests.llm.reports.test_broken_streams import ENDS, call_piece, piece
from tests.llm.reports.test_counts import counted
from tests.llm.reports.test_ends_and_demanded_thinking import asked_again
from tests.llm.reports.test_error_kinds import refused
from tests.llm.reports.test_gemini import ASK as ASK_GEMINI, CALL, answer as gemini_answer
from tests.llm.reports.test_resent_requests import sent
from tests.llm.reports.test_responses import answer as responses_answer
from tests.llm.reports.test_schemas_ids_and_images import sent_back
from tests.support.codec_runs import ANTHROPIC, GEMINI, body_of, response_of
from tests.support.reports import reported

SPENT = "Budget has been exceeded! {}Current cost: 26.075, Max budget: 0.25"
BUDGETS: list[Any] = [
    reported("BerriAI/litellm#22726", 400, say(SPENT.format(""), type="budget_exceeded", code="400")),
    reported("BerriAI/litellm#14144", 429, say("No deployments available - crossed budget: Exceeded budget for x",
        type="None", code="429")),
    (400, say(f"litellm.BadRequestError: OpenAIException - {SPENT.format('')}", type=None, code="400")),
    reported("Agenta-AI/agenta#6168", 429, say(SPENT.format("Key=0 (sk-...X) "), type="budget_exceeded", code="429")),
    reported("OWASP/OpenCRE#1102", 429, say("LiteLLM User: a, exceeded budget for model=m", type="budget_exceeded")),
    (400, say("ExceededBudget: End User=a over budget. Spend=0.0008, Budget=0.0001", type="auth_error")),
]  # fmt: skip


@pytest.mark.parametrize(("status", "body"), BUDGETS)
def test_a_budget_of_a_proxy_is_a_quota(status: int, body: Any) -> None:
    assert type(refused("compatible", status, body)) is e.QuotaExceededError


AFFORD = (
    "This requires more credits, or fewer max_tokens. You requested up to {} tokens, but can only afford {}."
)
AFFORDABLE: list[Any] = [
    reported("can1357/oh-my-pi#9569", 30104, None, 30104),
    reported("Gitlawb/openclaude#1263", 27342, 32000, 27342),
    reported("newo-ether/Agora#8", 3395, None, 3395),
    (3395, 1000, 1000),
]  # fmt: skip


@pytest.mark.parametrize(("most", "wanted", "limit"), AFFORDABLE)
def test_the_output_is_limited_to_what_the_credit_pays(most: int, wanted: int | None, limit: int) -> None:
    request = Request("m", (user("hi"),), max_output_tokens=wanted)
    bodies = sent("openrouter", request, 402, say(AFFORD.format(65536, most), code=402))
    assert bodies[-1]["max_tokens"] == limit


def test_a_credit_that_pays_no_answer_is_used_up() -> None:
    request = Request("m", (user("hi"),))
    assert len(sent("openrouter", request, 402, say(AFFORD.format(65536, 12), code=402))) == 1


class Plan(Arguments):
    path: str = Field(description="A path.")
    plan: list[dict[str, Any]] = Field(default_factory=list, description="Steps.")


READ: list[Any] = [
    reported("FoundationAgents/OpenManus#989", json.dumps('{"path": "a"}'), []),
    reported("NousResearch/hermes-agent#79333", '```json\n{"path": "a"}\n```', []),
    reported("tashfeenahmed/freellmapi#193", '{"path": "a", "plan": "[{\\"step\\": \\"x\\"}]"}', [{"step": "x"}]),
    ('{"path": "[1]"}', []),
]  # fmt: skip


@pytest.mark.parametrize(("text", "plan"), READ)
def test_arguments_in_an_odd_form_are_read(text: str, plan: list[Any]) -> None:
    arguments = parse_arguments(text, Plan)
    assert arguments.path in ("a", "[1]") and arguments.plan == plan


REFUSED: list[Any] = [
    reported("vakovalskii/topsha#22", '{"path": "a",}'),
    reported("NousResearch/hermes-agent#54879", '{"path": "a"}{"path":'),
    reported("lsdefine/GenericAgent#746", "null"),
    "[]", "5", '"x"', "true", '{"path": "a", "plan": "[1"}',
]  # fmt: skip


@pytest.mark.parametrize("text", REFUSED)
def test_arguments_that_are_no_object_are_told_to_the_model(text: str) -> None:
    with pytest.raises(ArgumentsError):
        parse_arguments(text, Plan)


@pytest.mark.report("NousResearch/hermes-agent#12252")
@pytest.mark.parametrize("text", ["", "None", '{"a": 1,}', '{"a": 1', '{"a": 1}}'])
def test_arguments_of_the_history_are_an_object(text: str) -> None:
    said = (user("hi"), Message(Role.ASSISTANT, (ToolCallPart("c", "read", text),)), tool_results([]))
    message = body_of(codec().encode(Request("m", said, tools=TOOLS), stream=True))["messages"][1]
    assert isinstance(json.loads(message["tool_calls"][0]["function"]["arguments"]), dict)


CACHED = {"input_tokens": 50, "cache_read_input_tokens": 2400, "cache_creation_input_tokens": 120}
COUNTS: list[Any] = [
    reported("mnfst/llm-gateway#2057", {"input_tokens": 10}, {**CACHED, "output_tokens": 47}, (2570, 2400, 120, 47)),
    reported("modelbus/one-api-pro#13", CACHED, {**CACHED, "output_tokens": 47}, (2570, 2400, 120, 47)),
    reported("decolua/9router#2209", CACHED, {"output_tokens": 5}, (2570, 2400, 120, 5)),
    reported("huggingface/tau#617", CACHED, {"output_tokens": 5, "input_tokens": None, "cache_read_input_tokens": -3},
        (2570, 2400, 120, 5)),
]  # fmt: skip


@pytest.mark.parametrize(("started", "ended", "expected"), COUNTS)
def test_counts_of_anthropic_are_read(started: Any, ended: Any, expected: Any) -> None:
    usage = counted(started, ended)
    told = (usage.input_tokens, usage.cache_read_tokens, usage.cache_write_tokens, usage.output_tokens)
    assert told == expected


@pytest.mark.report("anthropics/claude-code#20885")
def test_calls_with_the_same_id_get_ids_and_results_of_their_own() -> None:
    calls = Message(Role.ASSISTANT, (ToolCallPart("t", "read", "{}"), ToolCallPart("t", "list", "{}")))
    results = tool_results([ToolResultPart("t", "read", "x"), ToolResultPart("t", "list", "y")])
    request = Request("m", (user("a"), calls, results), tools=TOOLS)
    _, made, given = body_of(ANTHROPIC.encode(request, stream=True))["messages"]
    ids = [block["id"] for block in made["content"]]
    assert len(set(ids)) == 2
    assert [(it["tool_use_id"], it["content"]) for it in given["content"]] == [(ids[0], "x"), (ids[1], "y")]
    _, made, *told = body_of(codec().encode(request, stream=True))["messages"]
    assert [it["id"] for it in made["tool_calls"]] == [it["tool_call_id"] for it in told] == ids


@pytest.mark.report("OpenRouterTeam/ai-sdk-provider#519")
def test_pieces_of_a_summary_are_one_item() -> None:
    pieces: list[Any] = [
        {"type": "reasoning.summary", "summary": "First ", "index": 0},
        {"type": "reasoning.summary", "summary": "part.", "index": 0},
        {"type": "reasoning.encrypted", "data": "blob", "id": "rs_1", "index": 0},
    ]
    chunks = [piece(reasoning_details=[each]) for each in pieces]
    response = answer(*chunks, call_piece(0, "a", "read", "{}"), ENDS, provider="openrouter")
    assert response.reasoning == "First part."
    assert sent_back(response, "openrouter")["reasoning_details"] == [
        {**pieces[0], "summary": "First part."},
        pieces[2],
    ]


THOUGHT: Any = {"id": "rs_1", "type": "reasoning", "summary": [], "content": []}
RAW = [{"type": "reasoning_text", "text": "Hm."}]
SUMMARY = [{"type": "summary_text", "text": "Hm."}]
SAYS: Any = {"id": "m", "type": "message", "role": "assistant", "content": []}
HI = {**SAYS, "content": [{"type": "output_text", "text": "hi"}]}


def thinking(*pieces: Any, **whole: Any) -> Response:
    ended = done(0, {**THOUGHT, **whole})
    return responses_answer(CREATED, added(0, THOUGHT), *pieces, ended, added(1, SAYS), done(1, HI), final())


RAW_PIECE, SUMMARY_PIECE = delta("reasoning_text", 0, "Hm."), delta("reasoning_summary_text", 0, "Hm.")
LOCAL: list[Any] = [
    reported("run-llama/llama_index#21812", lambda: thinking(RAW_PIECE, content=RAW)),
    reported("peonist-ai/halogen-flash-server#44", lambda: thinking(RAW_PIECE, SUMMARY_PIECE, content=RAW,
        summary=SUMMARY)),
    lambda: thinking(SUMMARY_PIECE, RAW_PIECE, content=RAW, summary=SUMMARY),
    lambda: thinking(content=RAW, summary=SUMMARY),
    reported("mudler/LocalAI#9658", lambda: responses_answer(CREATED, added(0, SAYS),
        delta("output_text", 0, "<think>Hm.</think>"), delta("output_text", 0, "hi"),
        final(output=[{**THOUGHT, "content": RAW}, HI]))),
]  # fmt: skip


@pytest.mark.parametrize("read", LOCAL)
def test_reasoning_of_local_servers_is_read_once(read: Any) -> None:
    response = read()
    assert (response.text, response.reasoning) == ("hi", "Hm.")


def test_a_summary_beside_other_reasoning_is_kept() -> None:
    other = [{"type": "summary_text", "text": "In short: hm."}]
    assert set(thinking(content=RAW, summary=other).reasoning.split("\n\n")) == {"Hm.", "In short: hm."}


@pytest.mark.report("googleapis/nodejs-agentplatform#494")
def test_text_and_a_call_are_two_parts() -> None:
    parts = replayed(chunk({"text": "I look."}), chunk(CALL), GEMINI_STOP)
    assert [set(part) & {"text", "functionCall"} for part in parts] == [{"text"}, {"functionCall"}]


def function(**call: Any) -> Any:
    return chunk({"functionCall": call})


ACTION = {"partialArgs": [{"jsonPath": "$.ops[0].action", "stringValue": "add"}], "willContinue": True}
PIECES: list[Any] = [
    reported("smallmain/vscode-unify-chat-provider#49", [function(name="f", args={}), function(args={"a": 1})],
        [{"a": 1}]),
    reported("vercel/ai#14358", [function(name="f", willContinue=True), function(**ACTION),
        function(partialArgs=[{"jsonPath": "$.ops[0].n", "numberValue": 2}])], [{"ops": [{"action": "add", "n": 2}]}]),
    reported("Arize-ai/phoenix#11376", [function(name="f", args={"c": c}, id=i) for c, i in (("a", ""), ("b", None))],
        [{"c": "a"}, {"c": "b"}]),
]  # fmt: skip


@pytest.mark.parametrize(("chunks", "arguments"), PIECES)
def test_calls_of_gemini_are_read(chunks: list[Any], arguments: list[Any]) -> None:
    calls = gemini_answer(*chunks, GEMINI_STOP).tool_calls
    assert [json.loads(call.arguments) for call in calls] == arguments
    assert len({call.id for call in calls}) == len(calls) and all(call.id for call in calls)


@pytest.mark.report("looplj/axonhub#880")
@pytest.mark.report("google-gemini/gemini-cli#12425")
def test_ids_that_a_server_refuses_are_left_out_and_names_are_valid() -> None:
    made = response_of(
        GEMINI, wire(function(name="f", args={}, id="call_1"), GEMINI_STOP), ASK_GEMINI
    ).message
    named = Message(Role.ASSISTANT, (ToolCallPart("t", "21st magic!", "{}"),))
    results = [tool_results([ToolResultPart(i, "21st magic!", "x")]) for i in ("call_1", "t")]
    request = Request(
        ASK_GEMINI.model, (user("a"), made, results[0], named, results[1]), tools=ASK_GEMINI.tools
    )
    assert '"id":"call_1"' in GEMINI.encode(request, stream=True).content.decode()
    words = "Unknown name \"id\" at 'contents[1].parts[0].function_call': Cannot find field."
    contents = json.dumps(asked_again(GeminiCodec(capabilities_lookup("gemini")), request, words)["contents"])
    assert '"id"' not in contents
    names = re.findall(r'"name": "([^"]*)"', contents)
    assert len(names) == 4 and all(re.fullmatch(r"[A-Za-z_][\w.:-]{0,63}", name) for name in names)
