"""Convert the value that a function of the program returned to a result: a text, images, JSON, or an error."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from typing import Any

from pydantic_core import to_jsonable_python

from agent_ls.argument_types import find_misuse
from agent_ls.llm.attachments import with_file
from agent_ls.llm.messages import ImagePart
from agent_ls.own_code import error_words
from agent_ls.text import join_sentences
from agent_ls.tools.base import ToolError, ToolOutput

ALLOWED = (
    "A tool may return a text, a value with a JSON form, an ImagePart, a list of texts and ImageParts, "
    "or a ToolOutput."
)


async def make_output(value: object) -> ToolOutput:
    """Return a text as it is, images as images, a ToolOutput as it is, and any other value as JSON.

    Raises:
        ToolError: the value has none of these forms.
        ConfigurationError: an image has no data, or its file cannot be read.
    """
    if isinstance(value, ToolOutput):
        _check("the returned ToolOutput", value, ToolOutput)
        return dataclasses.replace(value, images=await _load(value.images))
    if isinstance(value, ImagePart):
        return ToolOutput("", images=await _load((value,)))
    if isinstance(value, list | tuple) and any(isinstance(it, ImagePart) for it in value):
        images = tuple(it for it in value if isinstance(it, ImagePart))
        texts = [_as_text(it) for it in value if not isinstance(it, ImagePart)]
        return ToolOutput("\n".join(texts), images=await _load(images))
    return ToolOutput(_as_text(value))


async def _load(images: tuple[ImagePart, ...]) -> tuple[ImagePart, ...]:
    for image in images:
        _check("the returned ImagePart", image, ImagePart)
    return tuple([await with_file(image) for image in images])


def _check(name: str, value: object, kind: type) -> None:
    if misuse := find_misuse(name, value, kind):
        raise ToolError(join_sentences(*misuse), kind="internal")


def _as_text(value: object) -> str:
    """Return a text as it is, and any other value as JSON, with dataclasses and models as objects."""
    if isinstance(value, str):
        return value
    try:
        _refuse_misplaced(value)
        return json.dumps(
            to_jsonable_python(value, inf_nan_mode="constants"), ensure_ascii=False, allow_nan=False
        )
    except (ValueError, TypeError, RecursionError) as error:  # also bytes that are no text
        problem = f"The tool returned a value without a JSON form ({error_words(error)})."
        raise ToolError(f"{problem} {ALLOWED}", kind="internal") from error


def _refuse_misplaced(value: Any) -> None:
    """Raise TypeError for an image or an output inside of other values, where JSON would hold its bytes."""
    if isinstance(value, ImagePart | ToolOutput):
        raise TypeError(f"{type(value).__name__} inside of another value")
    if isinstance(value, Mapping):
        value = value.values()
    elif dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = [getattr(value, field.name, None) for field in dataclasses.fields(value)]
    elif not isinstance(value, list | tuple | set | frozenset):
        return
    for one in value:
        _refuse_misplaced(one)
