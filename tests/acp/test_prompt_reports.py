"""Contents of prompts as clients of other ACP agents send them, each in its smallest form."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.acp.errors import RpcError
from agent_ls.acp.prompts import file_and_lines, read_prompt
from tests.support.reports import reported

pytestmark = pytest.mark.req("H13")

IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
TEXT = "dGhlIGNvbnRlbnQ="

CONTENT = [
    reported(
        "esengine/DeepSeek-Reasonix#8271",
        {
            "type": "resource",
            "resource": {"uri": "file:///p/image.png", "mimeType": "image/png", "blob": IMAGE},
        },
        "image/png",
    ),
    reported("PrimeIntellect-ai/prime-agent#613",
        {"type": "image", "mimeType": "image/png", "data": IMAGE, "uri": None, "annotations": None}, "image/png"),
    reported("agentscope-ai/QwenPaw#3313", {"type": "image", "mimeType": "image/jpg", "data": "/9j/4AAQSkZJRg=="},
        "image/jpeg"),
    reported("evalstate/fast-agent#470",
        {"type": "resource", "resource": {"uri": "file:///p/a.txt", "mimeType": "text/plain", "blob": TEXT}},
        "the content"),
    reported("NousResearch/hermes-agent#26607",
        {"type": "resource", "resource": {"uri": "file:///p/a.txt", "text": "the\r\ncontent"}}, "the"),
    reported("OpenHands/software-agent-sdk#2982", {"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="},
        "left out"),
]  # fmt: skip


@pytest.mark.parametrize(("block", "found"), CONTENT)
def test_content_of_a_prompt_reaches_the_model_or_is_named_as_left_out(
    block: dict[str, Any], found: str
) -> None:
    prompt = read_prompt([block])
    assert found in prompt.text or [it.media_type for it in prompt.images] == [found]


URIS = [
    reported("pacifio/atlas#162", "file:///p/my%20notes/a%23b.md", "/p/my notes/a#b.md"),
    reported("anomalyco/opencode#33534", "file:///p/a.txt?x=1", "/p/a.txt"),
    reported("NousResearch/hermes-agent#20237", "file:///p/a%20b/main.rs#L2:3", "/p/a b/main.rs"),
]


@pytest.mark.parametrize(("uri", "path"), URIS)
def test_a_link_to_a_file_names_its_path(uri: str, path: str) -> None:
    assert file_and_lines(uri)[0] == path


@pytest.mark.report("avivsinai/agent-message-queue#631")
def test_a_link_to_nothing_is_refused() -> None:
    with pytest.raises(RpcError) as refused:
        read_prompt([{"type": "text", "text": "look"}, {"type": "resource_link", "name": "a"}])
    assert refused.value.code == -32602


@pytest.mark.report("evalstate/fast-agent#474")
@pytest.mark.parametrize(
    "block",
    [
        {"type": "text", "text": "// what is this?"},
        {"type": "resource", "resource": {"uri": "file:///p/x.js", "text": "//run it"}},
        {"type": "text", "text": "/usr/bin is full"},
    ],
)
def test_a_text_with_slashes_is_no_command(block: dict[str, Any]) -> None:
    prompt = read_prompt([block])
    assert not prompt.command and "/" in prompt.text


@pytest.mark.parametrize(
    ("media_type", "data"),
    [
        ("image/PNG", IMAGE),
        ("image/png; charset=binary", IMAGE),
        ("application/octet-stream", f"data:image/png;base64,{IMAGE}"),
        ("image/png", "\n".join([IMAGE[:40], IMAGE[40:], ""])),
        ("image/x-png", IMAGE),
        ("image/jpeg", IMAGE),
    ],
)
def test_an_image_is_read_under_each_usual_name_and_form(media_type: str, data: str) -> None:
    (image,) = read_prompt([{"type": "image", "mimeType": media_type, "data": data}]).images
    assert image.media_type == "image/png" and (image.data or b"").startswith(b"\x89PNG")
