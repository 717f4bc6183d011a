"""Convert the content blocks of a prompt to text and images for the model. Pure.

Unknown kinds of content are left out, and a note to the model reports them.
"""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any
from urllib.parse import SplitResult, parse_qs, unquote
from urllib.request import url2pathname

from agent_ls.acp.errors import invalid
from agent_ls.addresses import split_address
from agent_ls.llm.image_data import IMAGE_TYPES, image_type
from agent_ls.llm.messages import ImagePart
from agent_ls.patterns import regex
from agent_ls.policy.named_places import IGNORED_BY
from agent_ls.services.context.attachments import BadImageError, image_part
from agent_ls.text import format_code_block

_COMMAND = regex(r"/([A-Za-z][\w.:-]*)(?:\s+(.*))?\Z", re.DOTALL)
_ZED = "/agent/"
_LINE_MARKS = regex(r"L?(\d{1,9})(?:(?:-L?|:)(\d{1,9}))?\Z")
_LINE_TAIL = regex(r"(?P<path>.+?):(?P<first>\d{1,9})(?::(?P<last>\d{1,9}))?\Z")


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt. `command` is the name after the slash with which the first text begins, "" for none;
    `arguments` is the text after it. `typed` is the text without contents of files. `unread` are sentences for the
    user about links that cannot be read.
    """

    text: str
    images: tuple[ImagePart, ...] = ()
    command: str = ""
    arguments: str = ""
    typed: str = ""
    unread: tuple[str, ...] = ()


def read_prompt(
    blocks: object,
    *,
    clean: Callable[[str], str] = lambda text: text,
    is_ignored: Callable[[str], bool] = lambda path: False,
) -> Prompt:
    """Read the blocks of a prompt. `clean` removes API keys from the text of resources. Files for which
    `is_ignored` returns True are not sent.

    Raises:
        RpcError: not a list of content blocks, no content, or a picture that no model can read.
    """
    if not isinstance(blocks, list) or not all(isinstance(block, dict) for block in blocks):
        raise invalid("The prompt is not a list of content blocks")
    texts: list[str] = []
    images: list[ImagePart] = []
    for block in blocks:
        found = _read_block(block, clean, is_ignored)
        if isinstance(found, ImagePart):
            images.append(found)
        elif found.strip():
            texts.append(found)
    if not texts and not images:
        raise invalid("The message is empty", "Write a message, then send it.")
    first = next((block.get("text") for block in blocks if block.get("type") == "text"), "")
    match = (
        _COMMAND.match(first.strip()) if isinstance(first, str) and blocks[0].get("type") == "text" else None
    )
    command, arguments = (match[1], (match[2] or "").strip()) if match else ("", "")
    typed = "\n\n".join(str(block.get("text")) for block in blocks if block.get("type") == "text")
    return Prompt("\n\n".join(texts), tuple(images), command, arguments, typed, tuple(_unread(blocks)))


def _unread(blocks: list[dict[str, Any]]) -> Iterator[str]:
    """Yield a sentence for each link to something inside of the editor, which came without its content."""
    for block in blocks:
        uri = block.get("uri") if block.get("type") == "resource_link" else None
        if isinstance(uri, str) and (thing := thing_in_editor(uri)):
            yield f"The editor sent only a link to {thing}, so the model cannot read it. Paste its text instead."


def _read_block(
    block: Mapping[str, Any], clean: Callable[[str], str], is_ignored: Callable[[str], bool]
) -> str | ImagePart:
    match block.get("type"):
        case "text" if isinstance(block.get("text"), str):
            return str(block["text"])
        case "image":
            return _image(block.get("mimeType"), block.get("data"))
        case "resource_link" if isinstance(block.get("uri"), str):
            return mention(block["uri"], block.get("name"))
        case "resource" if isinstance(block.get("resource"), dict):
            return _resource(block["resource"], clean, is_ignored)
        case "text" | "resource_link" | "resource":
            raise invalid(f"The client sent malformed content of type {block['type']} in the message")
        case kind:
            return f"[A part of the message was left out: agent-ls cannot read content of type {str(kind)[:40]!r}.]"


def _image(media_type: object, data: object) -> ImagePart:
    if not isinstance(media_type, str) or not isinstance(data, str):
        raise invalid("An image of the message has no data", "Attach it again")
    try:
        return image_part(media_type, data)
    except BadImageError as error:
        raise invalid(_sentence(str(error)), error.hint) from None


def _sentence(words: str) -> str:
    return words[:1].upper() + words[1:]


def _resource(
    resource: Mapping[str, Any], clean: Callable[[str], str], is_ignored: Callable[[str], bool]
) -> str | ImagePart:
    uri, text, blob = resource.get("uri"), resource.get("text"), resource.get("blob")
    uri = uri if isinstance(uri, str) else ""
    path, lines = file_and_lines(uri)
    place = f"{path}{_lines(lines)}" if path else uri
    if path and is_ignored(path):
        return f"Attached: {path}: blocked by policy, {IGNORED_BY}."
    if isinstance(text, str):
        return clean(f"Attached: {place}\n{format_code_block(text)}")
    media_type = resource.get("mimeType")
    if isinstance(blob, str) and isinstance(media_type, str) and image_type(media_type) in IMAGE_TYPES:
        return _image(media_type, blob)
    if isinstance(blob, str) and (text := _text_in(blob)):
        return clean(f"Attached: {place}\n{format_code_block(text)}")
    return f"Attached: {place} (its content is not text, and was left out)"


def _text_in(blob: str) -> str:
    """Return the text of a file that a client sends as bytes; "" if it is none."""
    try:
        text = base64.b64decode(blob, validate=True).decode("utf-8-sig")
    except ValueError:
        return ""
    return "" if "\0" in text else text


def mention(uri: str, name: object = None) -> str:
    """Describe a link for the model: as a file, as a folder, or as another address."""
    path, lines = file_and_lines(uri)
    if thing := thing_in_editor(uri):
        return f"[The user attached {thing}, but only its link arrived. Ask for the text if you need it.]"
    if not path:
        label = f"{name}: " if isinstance(name, str) and name else ""
        return f"Link: {label}{uri}"
    if path.endswith("/"):
        return f"Folder: {path}"
    return f"File: {path}{_lines(lines)}"


def file_and_lines(uri: str) -> tuple[str, tuple[int, int] | None]:
    """Return the path of a file uri ("" for another scheme), and the line range in its fragment, from 1.

    Zed's links to symbols and selections name the file in their query.
    """
    parts = split_address(uri)
    if _is_of_zed(parts):
        return next(iter(parse_qs(parts.query).get("path", ())), ""), _parse_line_fragment(parts.fragment)
    if parts.scheme.lower() != "file" or parts.netloc not in ("", "localhost"):
        return "", None
    path, lines = unquote(parts.path), _parse_line_fragment(parts.fragment)
    if lines is None and (match := _LINE_TAIL.match(path)):
        path, first = match["path"], int(match["first"])
        lines = (first, int(match["last"] or first))
    return (url2pathname(path) if path[2:3] == ":" else path), lines


def thing_in_editor(uri: str) -> str:
    """Return what a link of Zed names that is no file, for example "the terminal selection"; "" for other links."""
    parts = split_address(uri)
    if not _is_of_zed(parts) or file_and_lines(uri)[0]:
        return ""
    kind, _, rest = parts.path.removeprefix(_ZED).partition("/")
    name = next(iter(parse_qs(parts.query).get("name", ())), "") or unquote(rest)
    return f"the {kind.replace('-', ' ')} {name}".strip()


def _is_of_zed(parts: SplitResult) -> bool:
    return parts.scheme.lower() == "zed" and parts.path.startswith(_ZED)


def _parse_line_fragment(fragment: str) -> tuple[int, int] | None:
    """Parse the line numbers in a fragment: `L3-9`, `L3-L9`, `L3:9` or `L3`."""
    match = _LINE_MARKS.match(fragment)
    if not match:
        return None
    first = int(match[1])
    return first, max(int(match[2] or first), first)


def _lines(lines: tuple[int, int] | None) -> str:
    if lines is None:
        return ""
    return f", line {lines[0]}" if lines[0] == lines[1] else f", lines {lines[0]} to {lines[1]}"
