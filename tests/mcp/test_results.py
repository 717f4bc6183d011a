"""Results of MCP tools that contain more than text, or do not quite follow the protocol."""

from __future__ import annotations

import base64
import json
from pathlib import Path
from typing import Any

import pytest

from agent_ls.mcp.descriptions import CallResult, ResultBlock
from agent_ls.mcp.results import output_of
from tests.mcp.plans import raw_server, tool, user_file
from tests.mcp.rig import echoed, running, servers_of
from tests.support.fake_provider import text
from tests.support.reports import reported

pytestmark = pytest.mark.req("T11")


def said(text: str, **more: Any) -> dict[str, Any]:
    return {"content": [{"type": "text", "text": text}], **more}


DATA = {"chunks": [{"id": 7, "text": "the evidence"}]}
SHOWN = ["the evidence"]
RESULTS = [
    reported("usememos/memos#6226", said("1 useful. Evidence is in structured content.", structuredContent=DATA),
        ["1 useful", *SHOWN], id="summary-and-data"),
    reported("anomalyco/opencode#38923",
        said("4 items", structuredContent={"items": [{"id": "a1", "title": "Fix login"}]}), ["4 items", "Fix login"],
        id="count-and-items"),
    reported("NousResearch/hermes-agent#7118", said("file text", structuredContent={"fileName": "a.txt"}),
        ["file text", "a.txt"], id="text-and-facts"),
    reported("seuros/action_mcp#181", {"content": [], "structuredContent": {"greeting": "Hello, World!"}},
        ["Hello, World!"], id="data-alone"),
    pytest.param({"structuredContent": {"a": "no content member"}}, ["no content member"], id="no-content"),
    pytest.param(said("fine", isError=None), ["fine"], id="is-error-null"),
    pytest.param(said("fine", structuredContent=None, _meta=None), ["fine"], id="nulls"),
    pytest.param({"content": [{"type": "text", "text": "seen"}, {"type": "json", "json": DATA}]}, ["seen", *SHOWN],
        id="unknown-block"),
    pytest.param({"content": [{"type": "text", "text": "seen"}, {"type": "resource", "resource": {"uri": "x://y"}}]},
        ["seen", "x://y"], id="incomplete-block"),
    pytest.param({"content": [{"type": "text", "text": "seen", "annotations": None, "_meta": None}]}, ["seen"],
        id="nulls-in-a-block"),
    pytest.param({"content": "plain words"}, ["plain words"], id="content-is-a-string"),
    pytest.param({"content": {"type": "text", "text": "one"}}, ["one"], id="content-is-one-block"),
    pytest.param({"content": [{"text": "no type"}]}, ["no type"], id="block-without-type"),
    pytest.param({"content": ["a", 3]}, ["a", "3"], id="blocks-are-values"),
    pytest.param({"content": [{"type": "text", "text": {"a": "not a string"}}]}, ["not a string"], id="text-object"),
    pytest.param({"content": None}, ["(no output)"], id="content-null"),
]  # fmt: skip


@pytest.mark.parametrize(("result", "shown"), RESULTS)
async def test_model_gets_all_parts_of_a_result(
    result: dict[str, Any], shown: list[str], tmp_path: Path
) -> None:
    got = await echoed(tmp_path, calls={"echo": {"result": result}})
    assert not got.is_error, got.content
    assert all(word in str(got.content) for word in shown), got.content


@pytest.mark.parametrize(
    ("texts", "structured"),
    [
        ([json.dumps(DATA)], DATA),
        ([json.dumps(DATA, indent=2)], DATA),
        (["5"], {"result": 5}),
        (["plain"], {"result": "plain"}),
        (["a", "b"], {"result": ["a", "b"]}),
        (["1", "2"], {"result": [1, 2]}),
        (["done"], {}),
    ],
)
def test_structured_content_that_the_text_contains_is_not_repeated(texts: list[str], structured: Any) -> None:
    blocks = tuple(ResultBlock("text", it) for it in texts)
    assert output_of(CallResult(blocks, structured)).text == "\n".join(texts)


@pytest.mark.parametrize("kind", ["tools", "prompts", "resources"])
async def test_list_that_is_null_is_empty(kind: str, tmp_path: Path) -> None:
    plan: dict[str, Any] = {"tools": [tool("echo")], "prompts": [], "resources": [], kind: None}
    user_file(tmp_path / "state", raw=raw_server(tmp_path / "plans", "raw", **plan))
    async with running(tmp_path, [text("done")]) as rig:
        talk = await rig.talk(say="go")

        server = servers_of(talk).server("raw")
        assert server and server.state == "running"
        assert len(servers_of(talk).list_offered()) == (kind != "tools")


PNG = base64.b64encode(b"\x89PNG\r\n\x1a\n").decode()


@pytest.mark.report("charmbracelet/crush#3907")
def test_resources_in_a_result_are_images_and_texts_where_their_type_says_so() -> None:
    def resource(data: bytes, mime_type: str) -> ResultBlock:
        return ResultBlock("resource", data=base64.b64encode(data).decode(), mime_type=mime_type, uri="x://y")

    blocks = (
        ResultBlock("resource", data=PNG, mime_type="image/png", uri="x://image"),
        resource(b"a,b\n1,2\n", "text/csv; charset=utf-8"),
        resource(b'{"a": 1}', "application/json"),
        resource(b"\xff\xfe", "text/plain"),
        resource(b"%PDF", "application/pdf"),
    )
    output = output_of(CallResult(blocks))
    assert [image.media_type for image in output.images] == ["image/png"]
    assert "1,2" in output.text and '{"a": 1}' in output.text
    assert output.text.count("not displayed") == 2


IMAGE = {"type": "image", "data": PNG, "mimeType": "image/png"}
FILE = {"type": "resource", "resource": {"uri": "x://y", "blob": "JVBERi0=", "mimeType": "application/pdf"}}
STRUCTURED: list[Any] = [
    reported("datalayer/jupyter-mcp-server#214", [IMAGE], {"result": [IMAGE]}, ""),
    ([], {"result": [IMAGE]}, ""),
    ([IMAGE], {"result": IMAGE}, ""),
    ([IMAGE, "Plot:"], {"result": ["Plot:", {**IMAGE, "annotations": None}]}, "Plot:"),
    ([IMAGE], {"plots": [{"n": 1, "plot": IMAGE}], "of": "a"}, '"of": "a"'),
    ([IMAGE], {"result": [FILE]}, "application/pdf"),
]  # fmt: skip


@pytest.mark.parametrize(("content", "structured", "said"), STRUCTURED)
def test_media_in_structured_content_are_no_text(content: list[Any], structured: Any, said: str) -> None:
    blocks = [
        ResultBlock("text", it)
        if isinstance(it, str)
        else ResultBlock("image", data=PNG, mime_type="image/png")
        for it in content
    ]
    output = output_of(CallResult(tuple(blocks), structured))
    assert len(output.images) == 1 and said in output.text
    assert output.text == said or len(said) > 5
    assert PNG not in output.text and "JVBERi0=" not in output.text
