from __future__ import annotations

import base64
from pathlib import Path
from typing import Any

import pytest

from agent_ls.llm.attachments import MAX_BYTES, load_attachment, with_file, with_files
from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.messages import AudioPart, DocumentPart, ImagePart, Message, Role, TextPart
from agent_ls.llm.providers.base import Codec
from agent_ls.llm.requests import Request
from tests.llm.test_end_to_end import Server, ask, connected, every_wire, failure
from tests.support.codec_runs import ANTHROPIC, GEMINI, OPENAI

FILES: dict[str, ImagePart | DocumentPart | AudioPart] = {
    "a.png": ImagePart(b"\x89PNG", "image/png"),
    "a.JPG": ImagePart(b"\xff\xd8\xff", "image/jpeg"),
    "a.pdf": DocumentPart(b"data", "application/pdf", name="a.pdf"),
    "a.md": DocumentPart(b"data", "text/markdown", name="a.md"),
    "a.wav": AudioPart(b"data", "audio/wav"),
}


@pytest.mark.req("U5")
@pytest.mark.parametrize("name", FILES)
async def test_media_type_of_an_attached_file_is_derived_from_the_file_name(
    tmp_path: Path, name: str
) -> None:
    (tmp_path / name).write_bytes(FILES[name].data or b"")
    assert await load_attachment(tmp_path / name) == FILES[name]


@pytest.mark.req("U5")
@pytest.mark.parametrize("codec", [ANTHROPIC, OPENAI, GEMINI], ids=lambda codec: codec.name)
async def test_image_loaded_by_path_is_sent_to_every_provider(tmp_path: Path, codec: Codec) -> None:
    (tmp_path / "a.png").write_bytes(b"\x89PNG")
    said = Message(Role.USER, (TextPart("What is it?"), await load_attachment(str(tmp_path / "a.png"))))
    sent = codec.encode(Request("m", (said,)), stream=True).content
    assert base64.b64encode(b"\x89PNG") in sent


@pytest.mark.req("U5")
async def test_a_file_that_cannot_be_attached_is_refused_with_a_next_step(tmp_path: Path) -> None:
    (tmp_path / "a.zip").write_bytes(b"PK")
    with (tmp_path / "big.png").open("wb") as big:
        big.truncate(MAX_BYTES + 1)
    for name, why in (("a.zip", "has a type"), ("none.png", "No such file"), ("big.png", "too large")):
        with pytest.raises(ConfigurationError, match=why) as raised:
            await load_attachment(tmp_path / name)
        assert raised.value.hint


@pytest.mark.req("U5")
async def test_an_image_at_a_relative_path_is_read_and_checked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "shot.png").write_bytes(b"\xff\xd8\xff data")
    (tmp_path / "text.png").write_bytes(b"no picture")
    (made,) = await with_files((Message(Role.USER, (ImagePart(url="shot.png"),)),))
    assert made.parts == (ImagePart(b"\xff\xd8\xff data", "image/jpeg"),)
    for url in ("text.png", "none.png"):
        with pytest.raises(ConfigurationError):
            await with_files((Message(Role.USER, (ImagePart(url=url),)),))
    for url in ("https://example.com/shot.png", "data:image/png;base64,AAAA", "gs://bucket/shot.png"):
        message = Message(Role.USER, (ImagePart(url=url),))
        assert await with_files((message,)) == (message,)


@pytest.mark.req("U5")
@pytest.mark.parametrize(
    ("content", "media_type"),
    [
        (b"\x89PNG data", "image/png"),
        (b"\xff\xd8\xff data", "image/jpeg"),
        (b"RIFF    WEBP", "image/webp"),
    ],
)
async def test_an_image_without_a_type_gets_that_of_its_content(content: bytes, media_type: str) -> None:
    message = Message(Role.USER, (TextPart("See."), ImagePart(content)))
    (made,) = await with_files((message,))
    assert made.parts[1] == ImagePart(content, media_type)


@pytest.mark.req("U5")
@pytest.mark.parametrize(
    "part",
    [
        ImagePart(),
        ImagePart(b"no picture"),
        ImagePart(b"\x89PNG", "image/png", url="https://example.com/a.png"),
        DocumentPart(b"%PDF", url="/a.pdf"),
        AudioPart(),
    ],
)
async def test_a_part_that_is_not_one_of_data_and_url_is_refused(part: Any) -> None:
    with pytest.raises(ConfigurationError) as raised:
        await with_files((Message(Role.USER, (part,)),))
    assert raised.value.hint


OF_NO_PROVIDER = [
    ImagePart(b"BM\0\0", "image/bmp"),
    ImagePart(b"<svg/>", "image/svg+xml"),
    ImagePart(b"?"),
    DocumentPart(b"PK", "application/zip"),
    DocumentPart(b"\0", ""),
    AudioPart(b"\0", "video/mp4"),
]


@pytest.mark.req("U5")
@pytest.mark.parametrize("streams", [True, False])
@pytest.mark.parametrize("part", OF_NO_PROVIDER, ids=lambda part: part.media_type or "none")
@every_wire
async def test_a_type_that_no_provider_takes_is_refused_before_the_request(
    server: Server, provider: str, part: ImagePart | DocumentPart | AudioPart, streams: bool
) -> None:
    async with connected(server, provider, ["never"]) as (client, running):
        error = await failure(client, ask(provider, Message(Role.USER, (part,))), stream=streams)
        assert running.requests == []
    assert isinstance(error, ConfigurationError)
    accepted = {ImagePart: "image/webp", DocumentPart: "application/pdf", AudioPart: "audio/*"}
    assert accepted[type(part)] in error.hint


@pytest.mark.req("U5")
@pytest.mark.parametrize(
    ("given", "media_type"), [("image/jpg", "image/jpeg"), ("image/x-odd", "image/png"), ("image/heic", "")]
)
async def test_an_image_gets_the_registered_name_of_its_type(given: str, media_type: str) -> None:
    data = {"image/png": b"\x89PNG", "image/jpeg": b"\xff\xd8\xff"}.get(media_type, b"\0")
    assert (await with_file(ImagePart(data, given))).media_type == (media_type or given)


@pytest.mark.req("U5")
@pytest.mark.parametrize("given", ["image/jpeg", "image/JPG; q=1", "image/webp"])
async def test_an_image_with_another_type_than_its_content_gets_that_of_its_content(given: str) -> None:
    assert await with_file(ImagePart(b"\x89PNG", given)) == ImagePart(b"\x89PNG", "image/png")


@pytest.mark.req("U5")
@pytest.mark.parametrize("data", [b"", b"no picture", b"\xef\xbb\xbf\x89PNG"])
async def test_data_that_is_no_image_is_refused_whatever_its_type_says(data: bytes) -> None:
    with pytest.raises(ConfigurationError) as raised:
        await with_file(ImagePart(data, "image/png"))
    assert "PNG" in raised.value.hint


@pytest.mark.req("U5")
@pytest.mark.parametrize("name", ["shot", "shot.tmp", "shot.md"])
async def test_an_image_at_a_path_of_any_suffix_is_recognized_by_its_content(
    tmp_path: Path, name: str
) -> None:
    file = tmp_path / name
    file.write_bytes(b"\x89PNG")
    assert await with_file(ImagePart(url=str(file))) == ImagePart(b"\x89PNG", "image/png")
    file.write_bytes(b"text")
    with pytest.raises(ConfigurationError) as raised:
        await with_file(ImagePart(url=str(file)))
    assert raised.value.hint
