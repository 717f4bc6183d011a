"""Pure: read the images that clients and servers send as base64."""

from __future__ import annotations

import base64
import binascii

from agent_ls.llm.messages import ImagePart

IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")
"""The types that all providers with images accept."""

_OTHER_NAMES = {"image/jpg": "image/jpeg", "image/pjpeg": "image/jpeg", "image/x-png": "image/png"}


_SIGNATURES = ((b"\x89PNG", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"))


def image_type(media_type: str) -> str:
    """Return the registered name of a media type, without parameters: `image/jpeg` for `image/JPG; q=1`."""
    name = media_type.partition(";")[0].strip().lower()
    return _OTHER_NAMES.get(name, name)


def decode_image(media_type: str, data: str) -> ImagePart:
    """Read base64, also with line breaks, or as a data URL. The type is that of the content, as far as it is known.

    Providers refuse an image whose type and content differ, and with it each later request of the session.

    Raises:
        ValueError: the data is not base64.
    """
    if data.startswith("data:"):
        head, _, data = data.partition(",")
        media_type = head.removeprefix("data:") or media_type
    try:
        content = base64.b64decode("".join(data.split()), validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from None
    return ImagePart(content, media_type=type_by_content(content) or image_type(media_type))


def type_by_content(content: bytes) -> str:
    """Return which of IMAGE_TYPES an image has by its first bytes, "" for none."""
    if content[:4] == b"RIFF" and content[8:12] == b"WEBP":
        return "image/webp"
    return next((name for start, name in _SIGNATURES if content.startswith(start)), "")
