"""Load attached files as message parts. The suffix of the file name determines the type of the part."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from os import PathLike
from pathlib import Path
from typing import TypeVar
from urllib.parse import unquote

import anyio.to_thread

from agent_ls.addresses import split_address
from agent_ls.llm.errors import ConfigurationError, typed
from agent_ls.llm.image_data import IMAGE_TYPES, image_type, type_by_content
from agent_ls.llm.messages import AudioPart, DocumentPart, ImagePart, Message, Role, TextPart
from agent_ls.patterns import regex

MAX_BYTES = 32 * 1024 * 1024  # more than any provider accepts in one request

T = TypeVar("T")

_ADDRESS = regex(r"[A-Za-z][A-Za-z\d+.-]+:")
"""Begins an address with a scheme. Everything else is a path; one letter before the colon is a drive of Windows."""

_TYPES: Mapping[str, str] = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
    ".pdf": "application/pdf", ".txt": "text/plain", ".md": "text/markdown", ".csv": "text/csv", ".html": "text/html",
    ".wav": "audio/wav", ".mp3": "audio/mpeg",
}  # fmt: skip

_UNCHECKED = ("image/heic", "image/heif")
_IMAGES = (*IMAGE_TYPES, *_UNCHECKED)
_NO_IMAGE = "Pass a PNG, JPEG, GIF or WebP image."
_OTHERS: Mapping[type, Sequence[str]] = {
    DocumentPart: (
        "application/pdf", "text/*", "application/json", "application/xml", "application/rtf", "application/msword",
        "application/vnd.ms-*", "application/vnd.openxmlformats-officedocument.*",
        "application/vnd.oasis.opendocument.*", "video/*",
    ),
    AudioPart: ("audio/*",),
}  # fmt: skip
"""The types that at least one provider reads. Which of them a model reads, its provider says."""


@typed
async def load_attachment(path: str | PathLike[str]) -> ImagePart | DocumentPart | AudioPart:
    """Return the file at `path` as a part for a user's message.

    Raises:
        ConfigurationError: the file cannot be read, is larger than MAX_BYTES, or has an unsupported suffix.
    """
    return await anyio.to_thread.run_sync(_load, Path(path))


def has_files(messages: tuple[Message, ...]) -> bool:
    """Return whether a part of a user's message names a file by a path.

    Each request asks this about the whole conversation, so answers, results and texts are passed over quickly.
    """
    user = Role.USER
    parts = [
        part
        for message in messages
        if message.role is user
        for part in message.parts
        if part.__class__ is not TextPart
    ]
    return any(_local_file(part) or _is_mistyped(part) for part in parts)


async def with_files(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return the messages with the files that parts of the user's messages name by a path instead of an address.

    Raises:
        ConfigurationError: a file cannot be attached.
    """
    if not has_files(messages):
        return messages
    return tuple(
        [
            replace(message, parts=tuple([await with_file(part) for part in message.parts]))
            if message.role is Role.USER
            else message
            for message in messages
        ]
    )


async def with_file(part: T) -> T:
    """Return an image, a document or audio with its file, if its `url` is a path or a file: address.

    An image gets the type of its content: a provider refuses another, and each later request with it.

    Raises:
        ConfigurationError: the file cannot be attached, or the part is not data or a url, with a known type.
    """
    has_work = _local_file(part) or _is_mistyped(part)
    return await anyio.to_thread.run_sync(with_file_now, part) if has_work else part


def with_file_now(part: T) -> T:
    """Do the same as `with_file`. Blocks."""
    place = _local_file(part)
    if place is None:
        return _typed_image(part) if _is_mistyped(part) else part
    loaded = _load(place, is_image=isinstance(part, ImagePart))
    if type(loaded) is not type(part):
        kind = type(part).__name__
        raise ConfigurationError(
            f"{place.name} cannot be the file of an {kind}", hint="Attach it by load_attachment."
        )
    is_named = not isinstance(part, DocumentPart) or bool(part.name)
    named = {"name": loaded.name} if isinstance(loaded, DocumentPart) and not is_named else {}
    return replace(part, data=loaded.data, media_type=loaded.media_type, url="", **named)  # type: ignore[type-var]  # checked


def _is_mistyped(part: object) -> bool:
    if not isinstance(part, ImagePart) or part.data is None:
        return False
    return part.media_type not in _UNCHECKED and type_by_content(part.data) != (part.media_type or None)


def _typed_image(part: T) -> T:
    """Return an image with the type of its content."""
    given, data = getattr(part, "media_type", ""), getattr(part, "data", b"")
    media_type = type_by_content(data) or image_type(given)
    if media_type in IMAGE_TYPES and not type_by_content(data):
        raise ConfigurationError("the data of an ImagePart is no image", hint=_NO_IMAGE)
    if media_type in _IMAGES:
        return replace(part, media_type=media_type)  # type: ignore[type-var]  # an ImagePart
    raise _refused("images", given, _IMAGES)


def _refused(what: str, media_type: str, accepted: Sequence[str]) -> ConfigurationError:
    named = f"the type {media_type}" if media_type else "an unknown type"
    return ConfigurationError(
        f"no model reads {what} of {named}", hint=f"Pass one of these types: {', '.join(accepted)}."
    )


def _check_type(part: DocumentPart | AudioPart) -> None:
    accepted = _OTHERS[type(part)]
    media_type = part.media_type.partition(";")[0].strip().lower()
    if not any(fnmatchcase(media_type, pattern) for pattern in accepted):
        raise _refused("audio" if isinstance(part, AudioPart) else "documents", part.media_type, accepted)


def _local_file(part: object) -> Path | None:
    if not isinstance(part, ImagePart | DocumentPart | AudioPart):
        return None
    kind = type(part).__name__
    if part.data is not None:
        if part.url:
            raise ConfigurationError(f"an {kind} has both data and a url", hint="Pass only one of them.")
        if not isinstance(part, ImagePart):
            _check_type(part)
        return None
    if not part.url:
        raise ConfigurationError(
            f"an {kind} has neither data nor a url", hint=f"Pass {kind}(data) or {kind}(url=...)."
        )
    if part.url.startswith("file://"):
        return Path(unquote(split_address(part.url).path))
    return None if _ADDRESS.match(part.url) else Path(part.url).expanduser()


def _load(file: Path, *, is_image: bool = False) -> ImagePart | DocumentPart | AudioPart:
    """Return the file as a part. What must be an image is one by its content, whatever its suffix is."""
    media_type = "image/" if is_image else _TYPES.get(file.suffix.lower())
    if not media_type:
        raise ConfigurationError(
            f"{file.name} has a type that cannot be attached",
            hint=f"Attach a file whose name ends in one of {', '.join(_TYPES)}.",
        )
    data = _content(file)
    if media_type.startswith("image/"):
        if not (media_type := type_by_content(data)):
            raise ConfigurationError(f"{file.name} is no image", hint=_NO_IMAGE)
        return ImagePart(data, media_type)
    if media_type.startswith("audio/"):
        return AudioPart(data, media_type)
    return DocumentPart(data, media_type, name=file.name)


def _content(file: Path) -> bytes:
    try:
        size = file.stat().st_size
        data = file.read_bytes() if size <= MAX_BYTES else b""
    except OSError as error:
        raise ConfigurationError(
            f"{file} cannot be attached: {error.strerror or error}", hint="Check the path."
        ) from error
    if size > MAX_BYTES:
        raise ConfigurationError(
            f"{file.name} is too large to be attached ({size:,} bytes)",
            hint=f"The limit is {MAX_BYTES:,} bytes.",
        )
    return data
