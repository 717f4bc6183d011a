"""Contents of prompts as clients of other ACP agents send them, each in its smallest form."""

from __future__ import annotations

from typing import Any

import pytest

from agent_ls.acp.prompts import file_and_lines, read_prompt

pytestmark = pytest.mark.req("H13")

IMAGE = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNkYPhfDwAChwGA60e6kgAAAABJRU5ErkJggg=="
TEXT = "dGhlIGNvbnRlbnQ="

CONTENT = [
    pytest.param(
        {
            "type": "resource",
            "resource": {"uri": "file:///p/image.png", "mimeType": "image/png", "blob": IMAGE},
        },
        "image/png",
        marks=pytest.mark.report("esengine/DeepSeek-Reasonix#8271"),
    ),
    pytest.param(
        {"type": "image", "mimeType": "image/png", "data": IMAGE, "uri": None, "annotations": None},
        "image/png",
        marks=pytest.mark.report("PrimeIntellect-ai/prime-agent#613"),
    ),
    pytest.param(
        {"type": "image", "mimeType": "image/jpg", "data": "/9j/4AAQSkZJRg=="},
        "image/jpeg",
        marks=pytest.mark.report("agentscope-ai/QwenPaw#3313"),
    ),
    pytest.param(
        {"type": "resource", "resource": {"uri": "file:///p/a.txt", "mimeType": "text/plain", "blob": TEXT}},
        "the content",
        marks=pytest.mark.report("evalstate/fast-agent#470"),
    ),
    pytest.param(
        {"type": "resource", "resource": {"uri": "file:///p/a.txt", "text": "the\r\ncontent"}},
        "the",
        marks=pytest.mark.report("NousResearch/hermes-agent#26607"),
    ),
    pytest.param(
        {"type": "audio", "mimeType": "audio/wav", "data": "UklGRg=="},
        "left out",
        marks=pytest.mark.report("OpenHands/software-agent-sdk#2982"),
    ),
]


@pytest.mark.parametrize(("block", "found"), CONTENT)
def test_content_of_a_prompt_reaches_the_model_or_is_named_as_left_out(
    block: dict[str, Any], found: str
) -> None:
    prompt = read_prompt([block])
    assert found in prompt.text or [it.media_type for it in prompt.images] == [found]


URIS = [
    pytest.param(
        "file:///p/my%20notes/a%23b.md", "/p/my notes/a#b.md", marks=pytest.mark.report("pacifio/atlas#162")
    ),
    pytest.param("file:///p/a.txt?x=1", "/p/a.txt", marks=pytest.mark.report("anomalyco/opencode#33534")),
]


@pytest.mark.parametrize(("uri", "path"), URIS)
def test_a_link_to_a_file_names_its_path(uri: str, path: str) -> None:
    assert file_and_lines(uri)[0] == path


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
