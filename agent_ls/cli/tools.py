"""agent-ls tools: list the user's own tools and the tool packs, check the programs that a preset needs, and
install them.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from agent_ls.cli.output import add_json_option, print_error, print_json, to_single_row
from agent_ls.program_lookup import require_program, safe_path
from agent_ls.services.errors import AppError, BadChoiceError

if TYPE_CHECKING:
    from agent_ls.features.packs.load import SessionPacks


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--cd",
        type=Path,
        default=Path(),
        metavar="FOLDER",
        help="include the tools of the project in this folder",
    )
    add_json_option(parser)
    parser.add_argument("--packs", action="store_true", help="list presets and tool packs with their tools")
    parser.add_argument(
        "--check",
        metavar="PRESET[,PACK...]",
        nargs="?",
        const="",
        help="check which tools of a preset can be used here; without a name, those of your settings",
    )
    parser.add_argument(
        "--install",
        metavar="PRESET[,PACK...]",
        nargs="?",
        const="",
        help="like --check, and install missing programs after you confirm each command",
    )


def run(options: argparse.Namespace) -> int:
    try:
        if options.packs:
            return _list_packs(as_json=options.json)
        if options.install is not None:
            return _install(_load_packs(options.install, options.cd))
        if options.check is not None:
            return _check(_load_packs(options.check, options.cd))
    except AppError as error:
        print_error("tools", error)
        return 2
    return _list_own(options.cd.resolve(), as_json=options.json)


def _list_own(folder: Path, *, as_json: bool) -> int:
    from agent_ls.features.tools.yaml_tools import has_project_tools, load_cli_tools
    from agent_ls.services.permissions.trust import read_trust
    from agent_ls.services.settings.state_folder import state_folder

    is_trusted = read_trust(str(folder)) == "trusted"
    found = load_cli_tools(state_folder(), folder, trusted=is_trusted)
    if as_json:
        print_json(
            {
                "name": it.name,
                "category": it.category,
                "description": it.description,
                "source": str(it.source),
            }
            for it in found.tools
        )
        for problem in found.problems:
            print(f"✗ {problem}", file=sys.stderr)
        return 1 if found.problems else 0
    for tool in found.tools:
        print(to_single_row(f"{tool.name}  ({tool.category})  {tool.description}"))
        print(to_single_row(f"    {tool.usage}"))
        print(f"    {tool.source}")
    for problem in found.problems:
        print(f"✗ {problem}", file=sys.stderr)
    if not found.tools and not found.problems:
        print(
            f"no tools are defined: define tools in {state_folder() / 'tools.yaml'}; see `agent-ls docs adding-a-tool`"
        )
    if not is_trusted and has_project_tools(folder):
        print("the project in this folder has tools of its own; they are ignored until you trust the folder")
    print("`agent-ls tools --packs` lists further tools that can be turned on")
    return 1 if found.problems else 0


def _list_packs(*, as_json: bool) -> int:
    from agent_ls.features.packs.catalog import PACKS, PRESETS
    from agent_ls.features.packs.load import pack_tools

    if as_json:
        print_json(
            {"pack": pack.name, "about": pack.about, "tools": [tool.name for tool in pack_tools(pack.name)]}
            for pack in PACKS.values()
        )
        return 0
    for preset, packs in PRESETS.items():
        print(f"{preset:10} {' '.join(packs) or 'no further tools (default)'}")
    for pack in PACKS.values():
        print(f"\n{pack.name}: {pack.about}")
        if pack.own:
            print(f"  offered without this pack to models that have them: {', '.join(pack.own)}")
        for tool in pack_tools(pack.name):
            needs = f"  [{', '.join(tool.programs)}]" if tool.programs else ""
            print(to_single_row(f"  {tool.name}  ({tool.definition.category})  {tool.summary}{needs}"))
    return 0


def _load_packs(text: str, folder: Path) -> SessionPacks:
    """Load the packs that `text` names. If `text` is "", load the packs of the user's settings.

    Raises:
        BadChoiceError: a name is unknown, the settings are invalid, or no pack is chosen.
    """
    from agent_ls.features.packs.load import PackChoice, load_packs, permissions_of
    from agent_ls.services.permissions.trust import read_trust
    from agent_ls.services.settings.layers import chosen_settings, read_user_settings
    from agent_ls.services.settings.tool_packs import pack_settings

    files = [] if text else [("your settings file", read_user_settings())]
    settings = chosen_settings(files, [*pack_settings(text, "the list of packs")])
    chosen = settings.tool_packs
    choice = PackChoice(chosen.preset, tuple(chosen.packs), chosen.detect)
    if choice.is_empty:
        raise BadChoiceError(
            "no tool packs are chosen in your settings",
            "name a preset, such as `agent-ls tools --check standard`, or choose one in the settings",
        )
    place = str(folder.resolve())
    has_network = not settings.sandbox.enabled or settings.sandbox.network
    return load_packs(
        choice,
        place,
        path=os.environ.get("PATH"),
        permissions=permissions_of(
            place, is_restricted=read_trust(place) == "restricted", has_network=has_network
        ),
    )


def _check(packs: SessionPacks) -> int:
    """Print which tools of the packs can be used. Returns exit code 0 if nothing is missing, otherwise 1."""
    report = packs.report
    print(f"{report.usable} of {report.total} tools can be used here ({report.coverage_percent}%)")
    print(f"packs: {', '.join(report.packs)}")
    if report.left_out:
        print(f"packs that are not chosen: {', '.join(report.left_out)}")
    for pack in report.empty:
        print(f"✗ {pack}: none of its tools can be used")
    for missing in report.missing:
        print(
            to_single_row(f"✗ {missing.name} is not on PATH; tools that need it: {', '.join(missing.tools)}")
        )
        print(to_single_row(f"  → {missing.hint}"))
    for problem in report.problems:
        print(f"✗ {problem}")
    for pack, marker in report.suggested:
        print(f"· this folder has {marker}: consider the pack {pack}")
    return 0 if report.is_complete else 1


def _install(packs: SessionPacks) -> int:
    """Install missing programs. The user is asked on the terminal before each command.

    Returns the exit code: 0 if no program is missing any more, 1 if programs are still missing, 2 without a
    terminal.
    """
    missing = packs.report.missing
    if not missing:
        print("no program is missing")
        return 0
    if not sys.stdin.isatty():
        print("agent-ls tools: --install asks before each command: run it in a terminal", file=sys.stderr)
        return 2
    failed = 0
    for one in missing:
        print(to_single_row(f"{one.name} is not on PATH; tools that need it: {', '.join(one.tools)}"))
        if not one.program.command:
            print(f"  agent-ls cannot install it; do this yourself: {one.hint}")
            failed += 1
            continue
        try:
            answer = input(f"  run `{one.hint}`? [y/N] ")
        except EOFError:
            answer = ""
        if answer.strip().lower() not in ("y", "yes") or not _has_run(one.program.command):
            failed += 1
    return 1 if failed else 0


def _has_run(command: tuple[str, ...]) -> bool:
    """Run an installation command. Returns whether the command succeeded. Prints a message if the command
    cannot start.

    It runs in the home folder, because installers read settings and modules from the folder in which they start.
    """
    home = os.path.expanduser("~")
    try:
        done = subprocess.run(
            [require_program(command[0]), *command[1:]],
            cwd=home if os.path.isdir(home) else os.path.abspath(os.sep),
            env={**os.environ, "PATH": safe_path()},
            check=False,
        )
    except OSError as error:
        print(f"  {command[0]} cannot be started: {error.strerror}", file=sys.stderr)
        return False
    if done.returncode:
        print(f"  it failed with exit code {done.returncode}", file=sys.stderr)
    return not done.returncode
