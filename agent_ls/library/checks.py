"""Check the arguments that a program passes to a session, because type hints are not enforced at run time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, get_args

from agent_ls.environments.base import ExecutionEnvironment
from agent_ls.library.replies import ProgramCallbacks
from agent_ls.llm.messages import ImagePart
from agent_ls.loop.calls.approval import ApprovalAnswer
from agent_ls.policy.situation import Mode, ReviewSetting
from agent_ls.services.errors import BadChoiceError
from agent_ls.services.settings.model import parse_settings
from agent_ls.tools.base import Tool


def check_choices(mode: object, review: object) -> None:
    """Check the values of `mode` and `review`. None means that the argument was not given.

    Raises:
        BadChoiceError: there is no such mode or review setting.
    """
    for name, value, kind in (("mode", mode, Mode), ("review", review, ReviewSetting)):
        if value is not None:
            check_one_of(name, value, *get_args(kind))


def check_parts(
    tools: Iterable[object], adapters: Mapping[str, Any] | None, callbacks: ProgramCallbacks
) -> None:
    """Check the program's tools, adapters and callbacks.

    Raises:
        BadChoiceError: a tool is not a tool, an adapter is not an adapter, or a callback cannot be called.
    """
    for tool in tools:
        if not isinstance(tool, Tool):
            hint = "create the tool from a function with @agent_ls.tool, and pass the method of an object"
            raise BadChoiceError(f"tools: {tool!r} is not a tool", hint)
    for name, adapter in (adapters or {}).items():
        missing = [it for it in ("stream", "complete", "close") if not callable(getattr(adapter, it, None))]
        if missing:
            hint = "an adapter has the methods of agent_ls.ProviderAdapter"
            raise BadChoiceError(f"adapters: {name!r} has no method {', '.join(missing)}", hint)
    for name in ("approve", "answer", "extend_limit", "review_changes"):
        callback = getattr(callbacks, name)
        if callback is not None and not callable(callback):
            raise BadChoiceError(
                f"{name}: {callback!r} is not a function", "pass a function with one parameter"
            )


def check_places(folder: object, beside: object, environment: object) -> None:
    """Check the folders, and that `environment` has the methods of an environment.

    Raises:
        BadChoiceError: a folder is not a path, or a method is missing.
    """
    others: list[object] = list(beside) if isinstance(beside, list | tuple) else [None]
    for name, place in (("folder", folder), *(("beside", other) for other in others)):
        if not isinstance(place, str | Path):
            hint = "pass a str or a Path" if name == "folder" else "pass a list of str or Path"
            raise BadChoiceError(f"{name}: {place if name == 'folder' else beside!r} is no folder", hint)
    wanted = [name for name in vars(ExecutionEnvironment) if not name.startswith("_")]
    missing = [name for name in wanted if not callable(getattr(environment, name, None))]
    if environment is not None and missing:
        hint = "derive it from agent_ls.BasicEnvironment, which has a default for each method"
        raise BadChoiceError(f"environment: it has no method {', '.join(missing)}", hint)


def check_message(text: object, images: Sequence[object]) -> None:
    """Check a user message.

    Raises:
        BadChoiceError: it is empty, or of another type.
    """
    if not isinstance(text, str):
        raise BadChoiceError(
            f"the input is of type {type(text).__name__}", "pass a str, and images by `images`"
        )
    if not text.strip() and not images:
        raise BadChoiceError("the input is empty", "pass a text that says what to do")
    if not all(isinstance(image, ImagePart) for image in images):
        raise BadChoiceError(
            "images: not all of them are images", "pass ImagePart(url=...) or ImagePart(data)"
        )


def check_texts(**given: object) -> None:
    """Check that each argument is a text that is not empty.

    Raises:
        BadChoiceError: it is of another type, or empty.
    """
    for name, value in given.items():
        if not isinstance(value, str):
            raise BadChoiceError(f"{name} is of type {type(value).__name__}", "pass a str")
        if not value.strip():
            raise BadChoiceError(f"{name} is empty", "pass a text")


def check_one_of(name: str, value: object, *known: str) -> None:
    """Raise BadChoiceError if `value` is none of the known values."""
    if value not in known:
        raise BadChoiceError(f"{name}: {value!r} does not exist", f"choose one of {', '.join(known)}")


def check_list(name: str, values: object) -> None:
    """Raise BadChoiceError if it is no list of texts."""
    if not isinstance(values, list | tuple) or not all(isinstance(value, str) for value in values):
        raise BadChoiceError(f"{name}: {values!r} is no list", "pass a list of str")


def check_answer(answer: object) -> None:
    """Raise BadChoiceError if it is no answer to an approval request."""
    if not isinstance(answer, bool | ApprovalAnswer):
        raise BadChoiceError(
            f"the answer is of type {type(answer).__name__}", "pass a bool or an agent_ls.ApprovalAnswer"
        )


def rename_settings(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the given settings under the names of docs/configuration.md.

    Raises:
        BadChoiceError: a setting is unknown or invalid.
    """
    parsed, problems = parse_settings(settings)
    if problems:
        raise BadChoiceError("; ".join(problems), "`agent-ls docs configuration` lists the settings")
    return parsed.model_dump(by_alias=True, exclude_unset=True)
