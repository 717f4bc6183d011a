"""Pure: check which tools of the chosen packs can be used on a machine and in a folder.

The report is made before a task begins. It lists packs without a usable tool, missing programs and
how to install them, and missing permissions.
"""

from __future__ import annotations

import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass

from agent_ls.features.packs.catalog import CATEGORIES, PACKS, PROGRAMS, Program

WRITING = frozenset(("file_write", "file_manage", "git"))
"""Packs whose tools mostly write files, so that they need a writable folder."""

ONLINE = frozenset(("network", "browser"))
"""Packs that need network access."""


@dataclass(frozen=True, slots=True)
class Permissions:
    """Permissions of tools.

    `is_restricted`: the user has not trusted the folder, and will not be asked. `can_write`:
    the folder is writable. `has_network`: commands have network access.
    """

    is_restricted: bool = False
    can_write: bool = True
    has_network: bool = True


UNRESTRICTED = Permissions()


@dataclass(frozen=True, slots=True)
class MissingProgram:
    """A program that is not on PATH, and the tools that are not offered without it."""

    name: str
    tools: tuple[str, ...]

    @property
    def program(self) -> Program:
        return PROGRAMS[self.name]

    @property
    def hint(self) -> str:
        """The command that installs the program, or advice for the user."""
        return shlex.join(self.program.command) or self.program.advice


@dataclass(frozen=True, slots=True)
class EnvironmentReport:
    """The result of `validate`.

    `packs` are the chosen packs, `empty` the chosen packs without any usable tool, `left_out` the
    categories that were not chosen. `problems` are sentences about missing permissions. `usable` of
    `total` tools can be used. `suggested` are packs that fit the folder and were not chosen, each
    with the name of the file that indicates it.
    """

    packs: tuple[str, ...]
    empty: tuple[str, ...]
    left_out: tuple[str, ...]
    missing: tuple[MissingProgram, ...]
    problems: tuple[str, ...]
    usable: int
    total: int
    suggested: tuple[tuple[str, str], ...] = ()

    @property
    def is_complete(self) -> bool:
        return not (self.empty or self.missing or self.problems)

    @property
    def coverage_percent(self) -> int:
        """The percentage of the tools that can be used, rounded down."""
        return 100 * self.usable // self.total if self.total else 100

    @property
    def warning(self) -> str:
        """Warning for the user before a task; "" if nothing is missing."""
        if self.is_complete:
            return ""
        return " ".join(self._sentences())

    def _sentences(self) -> Iterator[str]:
        yield f"Tool packs: {self.usable} of {self.total} tools can be used ({self.coverage_percent}%)."
        if self.empty:
            yield f"Packs without any usable tool: {', '.join(self.empty)}."
        if self.missing:
            listed = "; ".join(f"{one.name} ({one.hint})" for one in self.missing)
            yield f"Missing programs: {listed}. The model uses the shell instead."
            yield "`agent-ls tools --install` installs what it can, after you confirm."
        yield from self.problems


def validate(
    packs: Sequence[str],
    programs: Mapping[str, Sequence[str]],
    installed: Collection[str],
    permissions: Permissions = UNRESTRICTED,
    suggested: Sequence[tuple[str, str]] = (),
) -> EnvironmentReport:
    """Return the report for these packs.

    `programs` maps each tool to the programs that it runs; a tool that is written in Python runs
    none. `installed` are the programs that exist. `suggested` are packs that fit the folder, each with a
    matching file name.
    """
    lacking = {
        tool: [name for name in programs.get(tool, ()) if name not in installed]
        for pack in packs
        for tool in PACKS[pack].tools
    }
    by_program: dict[str, list[str]] = {}
    for tool, names in lacking.items():
        for name in names:
            by_program.setdefault(name, []).append(tool)
    return EnvironmentReport(
        packs=tuple(packs),
        empty=tuple(
            pack for pack in packs if not PACKS[pack].own and all(map(lacking.get, PACKS[pack].tools))
        ),
        left_out=tuple(name for name in CATEGORIES if name not in packs),
        missing=tuple(MissingProgram(name, tuple(by_program[name])) for name in sorted(by_program)),
        problems=tuple(_problems(packs, permissions)),
        usable=sum(not names for names in lacking.values()),
        total=len(lacking),
        suggested=tuple((pack, marker) for pack, marker in suggested if pack not in packs),
    )


def _problems(packs: Sequence[str], permissions: Permissions) -> Iterator[str]:
    if permissions.is_restricted and packs:
        yield "This folder is not trusted: tools that run a program or change a file are refused. Trust it first."
    if not permissions.can_write and (found := [pack for pack in packs if pack in WRITING]):
        yield (
            f"The folder cannot be written: tools of {', '.join(found)} will fail. Change the permissions of "
            "the folder."
        )
    if not permissions.has_network and (found := [pack for pack in packs if pack in ONLINE]):
        yield (
            f"Commands have no network in the sandbox: tools of {', '.join(found)} will fail. "
            "The setting sandbox.network allows it."
        )
