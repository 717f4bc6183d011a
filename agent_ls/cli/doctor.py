"""agent-ls doctor: check keys, providers, programs and folders, and say how to fix problems."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from agent_ls.cli.output import print_error, to_single_row
from agent_ls.cli.waiting import waiting_line
from agent_ls.services.errors import AppError

if TYPE_CHECKING:
    from agent_ls.environments.remote.place import Place
    from agent_ls.services.settings.model import Settings

MARKS = {"good": "✓", "note": "·", "bad": "✗"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--offline", action="store_true", help="do not contact providers")
    parser.add_argument("--json", action="store_true", help="print a JSON list of objects, for programs")
    parser.add_argument(
        "--settings", default="", metavar="FILE", help="also check these editor settings (a JSON file)"
    )

    parser.add_argument(
        "--on",
        default="",
        metavar="PLACE",
        help="check another machine for `exec --on` instead of this machine, such as ssh:HOST:/path",
    )


def run(options: argparse.Namespace) -> int:
    import anyio

    from agent_ls.doctor.examination import DoctorFinding, examine

    try:
        settings, problems = _settings(options.settings)
        place = _place(options.on, settings) if options.on else None
    except AppError as error:
        print_error("doctor", error)
        return 2

    async def found() -> Sequence[DoctorFinding]:
        if place:
            from agent_ls.doctor.places import examine_place

            return await examine_place(place)
        return await examine(asks_providers=not options.offline, settings=settings)

    hint = "correct the setting; `agent-ls config --schema` lists the allowed values"
    with waiting_line(f"Checking {options.on or 'keys, providers and programs'}"):
        examined = anyio.run(found)
    findings = [*(DoctorFinding("settings", "bad", problem, hint) for problem in problems), *examined]
    if options.json:
        names = ("subject", "grade", "text", "hint")
        print(json.dumps([{name: getattr(one, name) for name in names} for one in findings], indent=2))
    else:
        width = max(len(finding.subject) for finding in findings)
        for finding in findings:
            print(to_single_row(f"{MARKS[finding.grade]} {finding.subject:{width}}  {finding.text}"))
            if finding.hint:
                print(to_single_row(f"  {'':{width}}  → {finding.hint}"))
    return 1 if any(finding.grade == "bad" for finding in findings) else 0


def _place(on: str, settings: Settings) -> Place:
    """Return the machine or container to check, with the options that the settings have for it.

    Raises:
        BadChoiceError: `on` is not the name of a machine or container.
    """
    from agent_ls.sessions.workspaces.remote_sites import find_place

    return find_place(on, settings)


def _settings(file: str) -> tuple[Settings, list[str]]:
    """Return the user's settings, overridden by the settings in `file`, and the problems found in both.

    Raises:
        BadChoiceError: `file` cannot be read, or is not JSON.
    """
    from agent_ls.services.settings.layers import layered, read_settings, user_layer
    from agent_ls.services.settings.model import parse_settings

    of_user, wrong = user_layer()
    settings, problems = parse_settings(layered(of_user, read_settings(Path(file)) if file else {}))
    return settings, [*wrong, *problems]
