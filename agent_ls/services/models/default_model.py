"""The provider and model that the user chose with `agent-ls models --use`, remembered between starts."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

from agent_ls.services.settings.state_folder import not_stored, state_folder, write_private


@dataclass(frozen=True, slots=True)
class DefaultModel:
    """A remembered model.

    `context_tokens` is the context size that the server reported, or 0. If both names are "", the user has not
    chosen a model.
    """

    provider: str = ""
    model: str = ""
    context_tokens: int = 0


def read_default_model(folder: Path | None = None) -> DefaultModel:
    """Return the stored choice, or an empty choice. `folder` None: the user's state folder."""
    try:
        found = json.loads(_path(folder).read_text(encoding="utf-8"))
        return DefaultModel(str(found["provider"]), str(found["model"]), int(found["context_tokens"]))
    except (OSError, ValueError, KeyError, TypeError):
        return DefaultModel()


def store_default_model(choice: DefaultModel, folder: Path | None = None) -> None:
    """Store the choice.

    Raises:
        AppError: the file cannot be written.
    """
    try:
        write_private(_path(folder), json.dumps(asdict(choice)) + "\n")
    except OSError as error:
        other_way = "name the model in the settings"
        raise not_stored("the default model", error, _path(folder).parent, other_way) from error


def delete_default_model(folder: Path | None = None) -> None:
    """Delete the stored choice."""
    _path(folder).unlink(missing_ok=True)


def _path(folder: Path | None) -> Path:
    return (folder or state_folder()) / "choice.json"
