from __future__ import annotations

import pytest

from agent_ls.environments.base import sha256
from agent_ls.environments.effects import ReadEffect
from agent_ls.environments.errors import NotAFileError
from agent_ls.environments.memory import MemoryEnvironment
from agent_ls.tools.read_file import IMAGE_MAX_BYTES, READ_FILE
from tests.support.tool_calls import ToolCalls

PNG = b"\x89PNG\r\n\x1a\n" + b"\0" * 20
ELEVEN = "".join(f"line {n}\n" for n in range(1, 12))


async def read(content: str | bytes, **arguments: int) -> str:
    calls = ToolCalls(MemoryEnvironment({"f.txt": content}))
    return (await calls.call(READ_FILE, file_path="f.txt", **arguments)).text


@pytest.mark.req("T2")
@pytest.mark.parametrize(
    ("content", "arguments", "expected"),
    [
        pytest.param("a\nb\n", {}, "1 | a\n2 | b", id="whole"),
        pytest.param("a\nb", {}, "1 | a\n2 | b", id="no-final-newline"),
        pytest.param("a\r\nb\r\n", {}, "1 | a\n2 | b", id="crlf"),
        pytest.param("\n\tx\n", {}, "1 | \n2 | \tx", id="blank-lines-and-tabs"),
        pytest.param("\ufeffa\n", {}, "1 | a", id="bom"),
        pytest.param("ä\n".encode("utf-16"), {}, "1 | ä", id="utf-16"),
        pytest.param("one\x0ctwo\u2028three\n", {}, "1 | one\x0ctwo\u2028three", id="only-real-line-ends"),
        pytest.param("", {}, "The file f.txt is empty.", id="empty"),
        pytest.param(
            ELEVEN, {"offset": 10}, "10 | line 10\n11 | line 11\n\n[Lines 10-11 of 11.]", id="to-the-end"
        ),
        pytest.param(
            ELEVEN,
            {"offset": 9, "limit": 2},
            " 9 | line 9\n10 | line 10\n\n[Lines 9-10 of 11. Continue with offset=11.]",
            id="numbers-aligned",
        ),
        pytest.param(
            "a\nb\n", {"offset": 2, "limit": 5}, "2 | b\n\n[Lines 2-2 of 2.]", id="limit-beyond-the-end"
        ),
    ],
)
async def test_read_file_when_text_then_lines_are_numbered(
    content: str | bytes, arguments: dict[str, int], expected: str
) -> None:
    assert await read(content, **arguments) == expected


@pytest.mark.req("T2")
async def test_read_file_when_longer_than_the_limit_then_the_first_2000_lines_are_shown() -> None:
    text = await read("x\n" * 2500)
    assert "\n2000 | x\n\n[Lines 1-2000 of 2500. Continue with offset=2001.]" in text


async def test_read_file_replaces_and_reports_undecodable_bytes() -> None:
    text = await read(b"caf\xe9\x01\n")
    assert text.startswith("1 | caf\ufffd\x01\n\n[The file is not valid UTF-8.")
    assert text.encode("utf-8")


@pytest.mark.req("T2")
@pytest.mark.parametrize(
    ("data", "shown", "note"),
    [
        (b"caf\xe9\n", "1 | café\n", "not UTF-8. It is shown as cp1252, which is a guess"),
        (b"# coding: latin-1\n# \xe9\n", "2 | # é\n", "is iso8859-1, as it declares"),
        ("é\n".encode(), "1 | é", ""),
    ],
)
async def test_read_file_when_it_is_not_utf_8_then_its_encoding_is_reported(
    data: bytes, shown: str, note: str
) -> None:
    text = await read(data)
    assert shown in text and note in text and ("[" in text) == bool(note)


@pytest.mark.req("T2", "U5")
@pytest.mark.parametrize(
    ("data", "media_type"),
    [
        (PNG, "image/png"),
        (b"\xff\xd8\xff\xe0\0", "image/jpeg"),
        (b"GIF89a\0", "image/gif"),
        (b"RIFF\n\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
async def test_read_file_when_image_then_the_result_has_an_image_part(data: bytes, media_type: str) -> None:
    calls = ToolCalls(MemoryEnvironment({"picture": data}))
    output = await calls.call(READ_FILE, file_path="picture")
    assert [(image.media_type, image.data) for image in output.images] == [(media_type, data)]
    assert media_type in output.text


async def test_read_file_records_the_read_content_under_the_absolute_path() -> None:
    calls = ToolCalls(MemoryEnvironment({"src/a.py": "a\nb\n"}))
    await calls.call(READ_FILE, file_path="./src/../src/a.py", limit=1)
    assert calls.reads.digest_of("/project/src/a.py") == sha256(b"a\nb\n")
    assert calls.reads.content_of("/project/src/a.py") == b"a\nb\n"


async def test_read_file_when_prepared_then_the_effect_names_the_file_and_nothing_was_read() -> None:
    calls = ToolCalls()
    prepared = await calls.prepare(READ_FILE, file_path="../elsewhere/a")
    assert prepared.effect == ReadEffect(("/elsewhere/a",))


@pytest.mark.req("T2", "T9", "R1")
@pytest.mark.parametrize(
    ("files", "arguments", "kind", "says"),
    [
        pytest.param(
            {"util.py": "x"},
            {"file_path": "utils.py"},
            "file_not_found",
            "File not found: utils.py. Did you mean util.py?",
            id="misspelt",
        ),
        pytest.param(
            {"lib/deep/config.toml": "x"},
            {"file_path": "config.toml"},
            "file_not_found",
            "Did you mean lib/deep/config.toml?",
            id="elsewhere",
        ),
        pytest.param(
            {},
            {"file_path": "no/such"},
            "file_not_found",
            "File not found: no/such. Search for the file with glob.",
            id="nothing-like-it",
        ),
        pytest.param(
            {"f": b"\0\1"}, {"file_path": "f"}, "binary_file", "Binary file: f (2 bytes)", id="binary"
        ),
        pytest.param(
            {"f": PNG + b"x" * IMAGE_MAX_BYTES},
            {"file_path": "f"},
            "too_large",
            "Create a smaller copy",
            id="huge-image",
        ),
        pytest.param(
            {"f": "a\nb\n"},
            {"file_path": "f", "offset": 9},
            "validation",
            "offset 9 is past the end: f has 2 lines. Use an offset from 1 to 2.",
            id="past-the-end",
        ),
        pytest.param({}, {"file_path": " "}, "validation", "The path is empty", id="no-path"),
        pytest.param({}, {"file_path": "a\0b"}, "validation", "NUL", id="nul-in-path"),
    ],
)
async def test_read_file_errors_suggest_the_next_step(
    files: dict[str, str | bytes], arguments: dict[str, object], kind: str, says: str
) -> None:
    error = await ToolCalls(MemoryEnvironment(files)).fails(READ_FILE, **arguments)
    assert error.kind == kind
    assert says in str(error)


async def test_read_file_does_not_record_a_file_as_read_when_reading_fails() -> None:
    calls = ToolCalls(MemoryEnvironment({"f": b"\0"}))
    await calls.fails(READ_FILE, file_path="f")
    assert calls.reads.digest_of("/project/f") is None


async def test_read_file_when_folder_then_the_environments_own_error_passes_through() -> None:
    with pytest.raises(NotAFileError):
        await ToolCalls(MemoryEnvironment({"d/f": "x"})).call(READ_FILE, file_path="d")
