"""Check the arguments that a program passes to a session, because type hints are not enforced at run time."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from agent_ls.argument_types import checked
from agent_ls.environments.remote.place import is_place_name
from agent_ls.library.hints import with_program_hints
from agent_ls.llm.attachments import with_file_now
from agent_ls.llm.errors import ConfigurationError
from agent_ls.llm.messages import ImagePart
from agent_ls.near_names import did_you_mean
from agent_ls.profiles.create import PROFILES
from agent_ls.services.errors import BadChoiceError
from agent_ls.services.settings.layers import limits_of
from agent_ls.services.settings.model import Settings, parse_settings, setting_problems
from agent_ls.text import join_sentences

F = TypeVar("F", bound=Callable[..., Any])

ARGUMENTS = {
    "approve": "the ApprovalRequested",
    "answer": "the QuestionAsked",
    "extend_limit": "the QuestionAsked",
    "review_changes": "the Hunks",
}
"""What each callback gets."""


def typed(function: F) -> F:
    """Decorate a function of the library: wrong types raise BadChoiceError, and hints are for programs."""
    return with_program_hints(checked(BadChoiceError)(function))


def check_message(text: str, images: Sequence[object]) -> None:
    """Raise BadChoiceError if a user message is empty."""
    if not text.strip() and not images:
        raise BadChoiceError("the input is empty", "pass a text that says what to do")


def check_model_providers(settings: Settings, own: Iterable[str]) -> None:
    """Raise BadChoiceError if `models` in the settings names a provider that does not exist.

    `own` are names of the program's providers.
    """
    models, known = settings.models, dict.fromkeys((*PROFILES, *own))
    named = {
        **{name: getattr(models, name) for name in ("compaction", "titles", "subagents", "suggestions")},
        **{f"fallbacks[{place}]": model for place, model in enumerate(models.fallbacks)},
    }
    for name, model in named.items():
        provider = model.partition("/")[0]
        if model and provider not in known:
            hint = join_sentences(
                did_you_mean(provider, known), f"the known providers are {', '.join(known)}"
            )
            raise BadChoiceError(f"settings: models.{name}: there is no provider {provider!r}", hint)


def read_images(images: Sequence[ImagePart]) -> list[ImagePart]:
    """Return the images with the data of those that name a file of this machine. Blocks.

    Raises:
        BadChoiceError: a file cannot be read, or an image has neither data nor a url.
    """
    try:
        return [with_file_now(image) for image in images]
    except ConfigurationError as error:
        raise BadChoiceError(f"images: {error}", error.hint) from error


def check_texts(**given: str) -> None:
    """Raise BadChoiceError if a text is empty."""
    for name, value in given.items():
        if not value.strip():
            raise BadChoiceError(f"{name} is empty", "pass a text")


def unknown_agent(agent_id: str) -> BadChoiceError:
    """Return the error about a subagent that does not run."""
    hint = "use the agent_id of a SubagentChanged whose status is `running`"
    return BadChoiceError(f"agent_id: no subagent {agent_id!r} runs", hint)


def check_callbacks(callbacks: object) -> None:
    """Raise BadChoiceError if a callback, an attribute of `callbacks`, cannot be called with one argument."""
    for name, argument in ARGUMENTS.items():
        callback: Callable[..., object] | None = getattr(callbacks, name)
        try:
            signature = inspect.signature(callback) if callback else None
        except (TypeError, ValueError):  # some functions in C have none
            continue
        try:
            if signature:
                signature.bind(argument)
        except TypeError as error:
            raise BadChoiceError(
                f"{name}: the callback cannot be called with one argument: {error}",
                f"write a function of one argument, {argument}",
            ) from None


def absolute_folder(folder: str | Path) -> str:
    """Return a folder as an absolute path, so that a later `os.chdir` does not change it.

    Raises:
        BadChoiceError: no file can have this name, or the path is relative, and the current folder was deleted.
    """
    place = os.path.expanduser(folder)
    if is_place_name(place):
        return place
    if "\0" in place or not _is_encodable(place):
        raise BadChoiceError(f"no folder can be named {place!r}", "pass the path of a folder")
    try:
        return str(Path(place).absolute())
    except FileNotFoundError:
        raise BadChoiceError(
            f"{folder} is relative to the current folder of the program, which was deleted",
            "pass an absolute path, or change to a folder that exists",
        ) from None


def _is_encodable(path: str) -> bool:
    try:
        os.fsencode(path)
    except UnicodeEncodeError:
        return False
    return True


def rename_settings(settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the given settings under the names of docs/configuration.md.

    Raises:
        BadChoiceError: a setting is unknown or invalid.
    """
    if problems := setting_problems(settings):
        raise BadChoiceError(
            f"settings: {'; '.join(problems)}", "`agent-ls docs configuration` lists the settings"
        )
    parsed, _ = parse_settings(settings)
    return parsed.model_dump(by_alias=True, exclude_unset=True)


def rename_limits(limits: Mapping[str, float]) -> dict[str, float]:
    """Convert limits with the names of docs/limits.md to the fields of UseLimits.

    Raises:
        BadChoiceError: a limit is unknown or invalid. The hint says how to pass a setting that is not in `limits`.
    """
    beside = {field.alias for field in Settings.model_fields.values()} & limits.keys()
    if beside:
        name = min(filter(None, beside))
        raise BadChoiceError(
            f"limits: {name} is a setting of its own", f'pass it by settings={{"{name}": {limits[name]!r}}}'
        )
    return limits_of(limits)
