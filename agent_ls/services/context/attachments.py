"""Attachments of a message: convert pictures and texts into the form that is sent to a model."""

from __future__ import annotations

from agent_ls.llm.image_data import IMAGE_TYPES, decode_image, type_by_content
from agent_ls.llm.messages import ImagePart


class BadImageError(ValueError):
    """An image that no model can read. `hint` says what to do next."""

    def __init__(self, message: str, hint: str) -> None:
        super().__init__(message)
        self.hint = hint


def image_part(media_type: str, data: str) -> ImagePart:
    """Convert a picture from base64 data.

    Raises:
        BadImageError: models cannot read this image type, the base64 data is damaged, or it is no image.
    """
    try:
        image = decode_image(media_type, data)
    except ValueError:
        raise BadImageError("the data of an attached image is damaged", "attach the image again") from None
    if image.media_type not in IMAGE_TYPES:
        raise BadImageError(
            f"models cannot read images of type {image.media_type!r}",
            f"convert the image to one of {', '.join(IMAGE_TYPES)}",
        )
    if not type_by_content(image.data or b""):
        raise BadImageError("an attached image has no content of an image", "attach the image again")
    return image
