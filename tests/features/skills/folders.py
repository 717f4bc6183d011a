"""Helpers that write skills and commands as files and load them."""

from __future__ import annotations

from pathlib import Path

from agent_ls.features.skills.loader import load_user_commands
from agent_ls.features.skills.values import UserCommands
from agent_ls.services.settings.model import SkillSettings


def skill(folder: Path, name: str, description: str = "Does it. Use it for tests.", **rows: str) -> Path:
    """Write `folder/name/SKILL.md` with these front matter rows and a short text."""
    path = folder / name / "SKILL.md"
    path.parent.mkdir(parents=True)
    more = "".join(f"{key.replace('_', '-')}: {value}\n" for key, value in rows.items())
    path.write_text(f"---\nname: {name}\ndescription: {description}\n{more}---\nThe text of {name}.\n")
    return path


def command(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text)
    return path


def placed(home: Path, name: str) -> Path:
    """Return the path of a file in the home folder, or in a project if `name` has no tilde."""
    project = home.parent / "p"
    (project / ".git").mkdir(parents=True, exist_ok=True)
    return home / name[2:] if name.startswith("~/") else project / name


def load(home: Path, project: Path | None = None, **settings: bool | list[str]) -> UserCommands:
    """Return the skills and commands of the user and the project. `home` must be the home folder; `home/state` is the
    state folder.
    """
    chosen = SkillSettings.model_validate(settings)
    return load_user_commands(chosen, str(home / "state"), str(project) if project else None)
