"""agent-ls skills: list the skills, commands and kinds of subagents that are defined in files."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from agent_ls.cli.output import add_json_option, print_json, to_single_row

if TYPE_CHECKING:
    from agent_ls.features.skills.agents import AgentKind
    from agent_ls.features.skills.values import UserCommand

WINDOW_TOKENS = 200_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cd",
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="include the skills of the project in this folder",
    )
    add_json_option(parser)
    parser.add_argument(
        "--catalogue", action="store_true", help="print the list of skills that is sent to the model"
    )


def _print_list(commands: Iterable[UserCommand], kinds: Iterable[AgentKind]) -> None:
    """Print each skill, command and kind of subagent in three lines."""
    for command in commands:
        users = [name for name, may in (("you", command.for_user), ("the model", command.for_model)) if may]
        heading = f"/{command.name}  ({command.kind} of the {command.origin}, for {' and '.join(users)})"
        _print_rows(heading, command.description, str(command.path))
    for kind in kinds:
        heading = f"{kind.name}  (kind of subagent of the {kind.origin}, for the model)"
        _print_rows(heading, kind.description, str(kind.path))


def _print_rows(heading: str, description: str, path: str) -> None:
    print(to_single_row(heading))
    print(to_single_row(f"    {description}"))
    print(to_single_row(f"    {path}"))


def run(options: argparse.Namespace) -> int:
    from agent_ls.features.skills.agent_tool import kinds_text
    from agent_ls.features.skills.agents import load_agent_kinds
    from agent_ls.features.skills.catalogue import catalogue_text
    from agent_ls.features.skills.loader import has_skills, load_user_commands
    from agent_ls.services.permissions.ignore_file import IgnoreFile
    from agent_ls.services.permissions.trust import read_trust
    from agent_ls.services.settings.layers import read_user_settings
    from agent_ls.services.settings.model import parse_settings
    from agent_ls.services.settings.state_folder import state_folder

    folder = str(options.cd.resolve())
    state, (chosen, _) = str(state_folder()), parse_settings(read_user_settings())
    settings = chosen.skills
    is_trusted = read_trust(folder) == "trusted"
    ignored = IgnoreFile((folder,))
    found = load_user_commands(settings, state, folder if is_trusted else None, is_ignored=ignored)
    kinds = load_agent_kinds(settings, state, folder if is_trusted else None, is_ignored=ignored)
    if options.json:
        kind_of = [(it, it.kind) for it in found.found] + [(it, "subagent") for it in kinds.found.values()]
        print_json(
            {
                "name": it.name,
                "kind": kind,
                "origin": it.origin,
                "description": it.description,
                "path": str(it.path),
            }
            for it, kind in kind_of
        )
    elif options.catalogue:
        texts = (catalogue_text(found.for_model, WINDOW_TOKENS), kinds_text(kinds, WINDOW_TOKENS))
        print("\n\n".join(filter(None, texts)) or "The model is sent no skills.")
    else:
        _print_list(found.found, kinds.found.values())
    problems = (*found.problems, *kinds.problems)
    for problem in problems:
        print(to_single_row(f"✗ {problem}"), file=sys.stderr)
    if options.json:
        return 1 if problems else 0
    if not (found.found or kinds.found or problems or options.catalogue):
        print(
            f"There are no skills. Write one in {state_folder() / 'skills'}/NAME/SKILL.md; see `agent-ls docs skills`."
        )
    if not is_trusted and has_skills(settings, state, folder, whose="project"):
        print(
            "The project in this folder has skills of its own; they are ignored until you trust the folder."
        )
    return 1 if problems else 0
