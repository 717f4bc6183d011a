"""Attachments of a message: convert pictures and texts into the form that is sent to a model."""

from __future__ import annotations

import base64
import binascii

from agent_ls.llm.messages import ImagePart

IMAGE_TYPES = ("image/png", "image/jpeg", "image/gif", "image/webp")


class BadImageError(ValueError):
    """An image that no model can read. `hint` says what to do next."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def image_part(media_type: str, data: str) -> ImagePart:
    """Convert a picture from base64 data.

    Raises:
        BadImageError: models cannot read this image type, or the base64 data is damaged.
    """
    if media_type not in IMAGE_TYPES:
        raise BadImageError(
            f"models cannot read images of type {media_type!r}",
            f"convert the image to one of {', '.join(IMAGE_TYPES)}",
        )
    try:
        return ImagePart(data=base64.b64decode(data, validate=True), media_type=media_type)
    except (binascii.Error, ValueError):
        raise BadImageError("the data of an attached image is damaged", "attach the image again") from None


def format_code_block(text: str) -> str:
    """Return text as a code block whose fence is longer than any fence in the text."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}\n{text if text.endswith(chr(10)) else text + chr(10)}{fence}"
