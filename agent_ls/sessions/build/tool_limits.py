"""Check that limits of tools, and the tools to remove, name existing tools, because other names have no effect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from agent_ls.features.tools.yaml_tools import kinds_of, own_kinds, own_kinds_by_native_name
from agent_ls.near_names import nearest
from agent_ls.services.errors import BadChoiceError
from agent_ls.services.settings.model import Settings
from agent_ls.tools.registry import ToolRegistry

SEPARATOR = "__"
"""Separates server and tool in the names of MCP tools.

Names of MCP tools are not checked, because the tools of a server are known only later.
"""


def find_unknown_limits(settings: Settings, registry: ToolRegistry) -> str:
    """Return a sentence about limits for tools that do not exist, "" if there are none.

    A limit for a built-in tool is valid even if this session does not offer the tool, so that one settings file fits
    all models.
    """
    named = {"toolOutputLimits": settings.tool_output_limits, "toolLineLimits": settings.tool_line_limits}
    if not any(named.values()):
        return ""
    known = sorted(own_kinds() | kinds_of(registry))
    unknown = [it for setting, limits in named.items() for it in _find_unknown(f"{setting}.", limits, known)]
    if not unknown:
        return ""
    what = "unknown tool" if len(unknown) == 1 else "unknown tools"
    return f"{', '.join(unknown)}: {what}. Tools: {', '.join(known)}, and SERVER__TOOL for a tool of an MCP server"


def check_limits(settings: Settings, registry: ToolRegistry) -> None:
    """Check the tool limits in the settings of one session.

    Raises:
        BadChoiceError: a limit names a tool that does not exist.
    """
    if problem := find_unknown_limits(settings, registry):
        raise BadChoiceError(problem, "correct or remove these settings")


def check_removed(names: Sequence[str], registry: ToolRegistry) -> None:
    """Check the tools to remove: a misspelt one would stay.

    Raises:
        BadChoiceError: there is no tool with one of these names.
    """
    if not names:
        return
    from agent_ls.features.packs.catalog import PACKS  # imported late: few programs remove tools

    packs = {tool for pack in PACKS.values() for tool in pack.tools}
    known = sorted({*own_kinds(), *packs, *registry.refused(), *kinds_of(registry)})
    if unknown := _find_unknown("", names, known):
        hint = f"`session.tools` has the names of the tools, such as {', '.join(sorted(kinds_of(registry)))}"
        raise BadChoiceError(f"without_tools: there is no tool {', '.join(unknown)}", hint)


def _find_unknown(before: str, names: Iterable[str], known: list[str]) -> list[str]:
    return [
        f"{before}{name}{_suggest(name, known)}"
        for name in names
        if SEPARATOR not in name and name not in known
    ]


def _suggest(name: str, known: list[str]) -> str:
    near = own_kinds_by_native_name().get(name) or nearest(name, known)
    return f" (did you mean {near}?)" if near else ""
