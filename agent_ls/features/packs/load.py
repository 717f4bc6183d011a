"""Load the tools of the packs that the settings choose for a session, and add them to its profiles.

The list of tools does not change while the session is open, because it is the start of the prompt that the
provider caches.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any, Protocol

from agent_ls.features.base import SessionFeature
from agent_ls.features.packs.catalog import CODE_TOOLS, COVERED_BY, NEEDS, PACKS, PRESETS
from agent_ls.features.packs.detect import suggest_for_names, suggest_packs
from agent_ls.features.packs.validator import UNRESTRICTED, EnvironmentReport, Permissions, validate
from agent_ls.features.tools.yaml_tools import read_packaged_tools
from agent_ls.profiles.base import ProviderProfile
from agent_ls.profiles.create import family_tools
from agent_ls.program_lookup import find_on
from agent_ls.tools.base import Tool
from agent_ls.tools.cli_tool import CliTool, cli_tool

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class PackChoice:
    """The packs that the settings choose: those of a preset, named packs, and with `detect` packs that fit the
    folder.
    """

    preset: str = "none"
    packs: tuple[str, ...] = ()
    detect: bool = False

    @property
    def is_empty(self) -> bool:
        return self.preset == "none" and not self.packs and not self.detect


@dataclass(frozen=True, slots=True)
class PackTool:
    """A tool of a pack.

    `is_named`: the settings name its pack, so it is offered even if the profile has another tool
    that does the same.
    """

    name: str
    pack: str
    definition: CliTool | Tool[Any]
    is_named: bool = False

    @property
    def summary(self) -> str:
        """The first sentence of the tool's description, up to a colon."""
        line = self.definition.description.partition("\n")[0]
        first = line.partition(". ")[0].partition(": ")[0]
        return f"{first.rstrip('.')}."

    @property
    def programs(self) -> tuple[str, ...]:
        """The programs that the tool runs; () for a tool that is written in Python."""
        if not isinstance(self.definition, CliTool):
            return ()
        more = NEEDS.get(self.name)
        return (self.definition.cmd, more) if more else (self.definition.cmd,)


@dataclass(frozen=True, slots=True)
class SessionPacks:
    """The usable tools of a session's packs, and a report on missing programs and permissions.

    `detected` are the packs that were chosen because they fit the folder.
    """

    tools: tuple[PackTool, ...]
    report: EnvironmentReport
    detected: tuple[str, ...] = ()


class CommandPlace(Protocol):
    """Interface to another machine on which commands run: its files and programs. Both methods block."""

    def names(self, folder: str) -> Sequence[str]:
        """Return the file names in a folder of that machine."""
        ...

    def programs(self, wanted: Collection[str]) -> frozenset[str]:
        """Return those of the `wanted` programs that are on the PATH of that machine."""
        ...


def pack_tools(pack: str, *, is_named: bool = False) -> Iterator[PackTool]:
    """Yield all tools of a pack, in the pack's order. Blocks."""
    path = Path(__file__).with_name(f"{pack}.yaml")
    found = {tool.name: tool for tool in (read_packaged_tools(path) if path.is_file() else ())}
    for name in PACKS[pack].tools:
        if name in CODE_TOOLS:
            module, _, attribute = CODE_TOOLS[name].partition(":")
            tool: Tool[Any] = getattr(import_module(f"agent_ls.tools.{module}"), attribute)
            yield PackTool(name, pack, tool, is_named)
        elif name in found:
            yield PackTool(name, pack, found[name], is_named)


def load_packs(
    choice: PackChoice,
    folder: str,
    *,
    path: str | None,
    permissions: Permissions = UNRESTRICTED,
    is_local: bool = True,
    there: CommandPlace | None = None,
) -> SessionPacks:
    """Load the chosen packs. Blocks.

    `path` is the PATH for commands. `there` is the machine that has the folder, None for this machine. If
    `is_local` is False, an environment of the embedding program runs the commands: it cannot be searched, so
    all programs count as installed.
    """
    fitting = suggest_for_names(there.names(folder)) if there else suggest_packs(folder) if is_local else ()
    detected = tuple(pack for pack, _ in fitting) if choice.detect else ()
    packs = tuple(dict.fromkeys((*PRESETS[choice.preset], *choice.packs, *detected)))
    tools = [tool for pack in packs for tool in pack_tools(pack, is_named=pack in choice.packs)]
    wanted = {program for tool in tools for program in tool.programs}
    if there:
        installed = set(there.programs(wanted))
    else:
        installed = {name for name in wanted if not is_local or find_on(name, path, folder)}
    report = validate(packs, {tool.name: tool.programs for tool in tools}, installed, permissions, fitting)
    usable = tuple(tool for tool in tools if installed.issuperset(tool.programs))
    return SessionPacks(usable, report, detected)


def permissions_of(folder: str, *, is_restricted: bool, has_network: bool) -> Permissions:
    """Return the permissions of tools in this folder. Blocks."""
    return Permissions(is_restricted, os.access(folder, os.W_OK), has_network)


class PackTools(SessionFeature):
    """Adds the tools of packs to profiles, and logs the tools that cannot be used.

    A tool never replaces a tool with the same name. If the profile has another tool that does the
    same, the tool is left out, unless the settings name its pack. `variables` are the environment
    variables that definitions may use.
    """

    def __init__(self, packs: SessionPacks, variables: Mapping[str, str], *, native_names: bool) -> None:
        if packs.report.missing:
            absent = ", ".join(f"{one.name} ({', '.join(one.tools)})" for one in packs.report.missing)
            log.warning("tools are not offered because their programs are missing: %s", absent)
        self._made = [(tool, _make_tool(tool, variables.get)) for tool in packs.tools]
        self._native_names = native_names

    def add_tools(self, profile: ProviderProfile) -> None:
        lookup = profile.registry.copy().lookup
        for pack_tool, tool in self._made:
            others = () if pack_tool.is_named else COVERED_BY.get(pack_tool.name, ())
            if any(lookup(name) for name in (pack_tool.name, *others)):
                continue
            for shaped in family_tools(tool, profile.id, native_names=self._native_names):
                if lookup(shaped.name) is None:
                    profile.registry.register(shaped)


def _make_tool(tool: PackTool, variable: Callable[[str], str | None]) -> Tool[Any]:
    if isinstance(tool.definition, CliTool):
        return cli_tool(tool.definition, variable)
    return tool.definition
