"""Load attached files as message parts. The suffix of the file name determines the type of the part."""

from __future__ import annotations

from collections.abc import Mapping
from os import PathLike

import anyio

from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.messages import AudioPart, DocumentPart, ImagePart

MAX_BYTES = 32 * 1024 * 1024  # more than any provider accepts in one request

_TYPES: Mapping[str, str] = {
    ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg", ".gif": "image/gif", ".webp": "image/webp",
    ".pdf": "application/pdf", ".txt": "text/plain", ".md": "text/markdown", ".csv": "text/csv", ".html": "text/html",
    ".wav": "audio/wav", ".mp3": "audio/mpeg",
}  # fmt: skip


async def load_attachment(path: str | PathLike[str]) -> ImagePart | DocumentPart | AudioPart:
    """Return the file at `path` as a part for a user's message.

    Raises:
        ConfigurationError: the file cannot be read, is larger than MAX_BYTES, or has an unsupported suffix.
    """
    file = anyio.Path(path)
    media_type = _TYPES.get(file.suffix.lower())
    if media_type is None:
        raise ConfigurationError(
            f"{file.name} has a type that cannot be attached",
            hint=f"Attach a file whose name ends in one of {', '.join(_TYPES)}.",
        )
    try:
        size = (await file.stat()).st_size
        data = await file.read_bytes() if size <= MAX_BYTES else b""
    except OSError as error:
        raise ConfigurationError(
            f"{file} cannot be attached: {error.strerror or error}", hint="Check the path."
        ) from error
    if size > MAX_BYTES:
        raise ConfigurationError(
            f"{file.name} is too large to be attached ({size:,} bytes)",
            hint=f"The limit is {MAX_BYTES:,} bytes.",
        )
    if media_type.startswith("image/"):
        return ImagePart(data, media_type)
    if media_type.startswith("audio/"):
        return AudioPart(data, media_type)
    return DocumentPart(data, media_type, name=file.name)
