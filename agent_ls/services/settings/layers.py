"""Read and merge layers of settings: the user's file, a file for one run, single `name=value` arguments."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from platformdirs import user_config_path

from agent_ls.llm.endpoint import ConnectionSettings as EndpointSettings
from agent_ls.services.errors import BadChoiceError
from agent_ls.services.settings.model import Settings, parse_settings, setting_problems

SETTINGS_VARIABLE = "AGENT_LS_SETTINGS"
"""Environment variable with the path of the user's settings file. If it is empty, no file is read."""

SECTION = "agentLs"
HINT = "`agent-ls config --schema` prints all settings; `agent-ls docs configuration` explains them"


def layered(*layers: Mapping[str, Any]) -> dict[str, Any]:
    """Merge layers. A setting in a later layer overrides the same setting in an earlier layer; sections are
    merged.
    """
    merged: dict[str, Any] = {}
    for layer in layers:
        for name, value in layer.items():
            known = merged.get(name)
            both = isinstance(known, Mapping) and isinstance(value, Mapping)
            merged[name] = layered(known or {}, value) if both else value
    return merged


def limits_of(raw: Mapping[str, float]) -> dict[str, float]:
    """Convert limits with the names in docs/configuration.md to the fields of UseLimits.

    Raises:
        BadChoiceError: a name is unknown or a value is invalid.
    """
    if problems := setting_problems({"limits": raw}):
        raise BadChoiceError("; ".join(problems), HINT)
    return parse_settings({"limits": raw})[0].limits.model_dump(exclude_unset=True)


def user_settings_path() -> Path | None:
    """Return the user's settings file, whether it exists or not; None if AGENT_LS_SETTINGS is empty."""
    named = os.environ.get(SETTINGS_VARIABLE)
    if named is None:
        return user_config_path("agent-ls", appauthor=False) / "settings.json"
    return Path(named).expanduser() if named.strip() else None


def read_user_settings() -> Mapping[str, Any]:
    """Return the settings of the user's file; {} if the file does not exist. Blocks.

    Raises:
        BadChoiceError: the file cannot be read, or is not JSON.
    """
    path = user_settings_path()
    try:
        is_there = path is not None and (path.is_file() or path.is_dir())
    except OSError:
        is_there = False
    return read_settings(path) if path and is_there else {}


def read_settings(path: Path) -> Mapping[str, Any]:
    """Read settings from a JSON file. Blocks.

    The settings are the top-level object of the file, or its section `agentLs`.

    Raises:
        BadChoiceError: the file cannot be read, is not JSON, or contains no JSON object with settings.
    """
    try:
        raw = json.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise BadChoiceError(
            f"the settings file {path} cannot be read: {error.strerror}", "give a file that you may read"
        ) from None
    except (ValueError, RecursionError) as error:
        raise BadChoiceError(f"the settings file {path} is not JSON: {error}", HINT) from None
    if isinstance(raw, dict) and isinstance(raw.get(SECTION), dict):
        raw = raw[SECTION]
    if not isinstance(raw, dict):
        raise BadChoiceError(f"the settings file {path} does not contain a JSON object of settings", HINT)
    return raw


def user_layer() -> tuple[Mapping[str, Any], list[str]]:
    """Return the valid settings of the user's file, and a sentence for each invalid one. Blocks."""
    try:
        parsed, problems = parse_settings(read_user_settings())
    except BadChoiceError as error:
        return {}, [f"{error}; it is ignored"]
    found = parsed.model_dump(by_alias=True, exclude_unset=True)
    return found, [f"{user_settings_path()}: {problem}" for problem in problems]


def user_settings() -> Settings:
    """Return the settings of the user's file. Invalid ones, also a whole file, have their defaults. Blocks."""
    return parse_settings(user_layer()[0])[0]


def user_endpoints() -> Mapping[str, EndpointSettings]:
    """Return URLs, headers and timeouts from the user's file, by provider name. Blocks."""
    return {name: provider.endpoint() for name, provider in user_settings().providers.items()}


def chosen_settings(files: Sequence[tuple[str, Mapping[str, Any]]], words: Sequence[str]) -> Settings:
    """Merge settings of files and `name=value` arguments. Later ones override earlier ones.

    `files` contains the settings of each file, and a file name for messages. `words` are these arguments.

    Raises:
        BadChoiceError: a setting is unknown (with the nearest known name) or a value is invalid.
    """
    layers: list[Mapping[str, Any]] = []
    for source, raw in files:
        if problems := setting_problems(raw):
            raise BadChoiceError(f"{source}: {'; '.join(problems)}", HINT)
        layers.append(_by_alias(raw))
    layers += [_by_alias(_entry(word)) for word in words]
    return Settings.model_validate(layered(*layers))


def _by_alias(raw: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings in `raw` with camelCase names, without adding defaults. `raw` may have snake_case
    names.
    """
    return Settings.model_validate(raw).model_dump(by_alias=True, exclude_unset=True)


def _entry(word: str) -> Mapping[str, Any]:
    """Parse `limits.tokensPerInput=5` into nested settings.

    The value is parsed as JSON, text or a list `a,b,c`; the first form that is valid for the setting is used.
    """
    name, equals, text = word.partition("=")
    steps = name.strip().split(".")
    if not equals or not all(steps):
        raise BadChoiceError(f"--set {word!r}: write the setting as NAME=VALUE, such as maxTurns=20", HINT)
    problems: list[str] = []
    for value in _readings(text):
        entry: Any = value
        for step in reversed(steps):
            entry = {step: entry}
        found = setting_problems(entry)
        if not found:
            return dict(entry)
        problems = problems or found
    raise BadChoiceError(f"--set {'; '.join(problems)}", HINT)


def _readings(text: str) -> list[Any]:
    listed = [part.strip() for part in text.split(",") if part.strip()]
    try:
        return [json.loads(text), text, listed]
    except (ValueError, RecursionError):
        return [text, listed]
