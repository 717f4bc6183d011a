"""agent-ls doctor: what is there, what is missing, and what to do about it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from agent_ls.app.settings import Settings

MARKS = {"good": "✓", "note": "·", "bad": "✗"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--offline", action="store_true", help="ask no provider")
    parser.add_argument("--json", action="store_true", help="print a list of objects, for programs")
    parser.add_argument(
        "--settings", default="", metavar="FILE", help="look at these settings of an editor too (JSON)"
    )


def run(options: argparse.Namespace) -> int:
    import anyio

    from agent_ls.app.doctor import Finding, examine

    try:
        settings, problems = _settings(options.settings)
    except (OSError, ValueError) as error:
        print(f"agent-ls: {options.settings} is no JSON object: {error}", file=sys.stderr)
        return 2

    async def found() -> list[Finding]:
        return await examine(asks_providers=not options.offline, settings=settings)

    hint = "mend it in the settings of your editor; `agent-ls config --schema` has what is allowed"
    findings = [*(Finding("settings", "bad", problem, hint) for problem in problems), *anyio.run(found)]
    if options.json:
        names = ("subject", "grade", "text", "hint")
        print(json.dumps([{name: getattr(one, name) for name in names} for one in findings], indent=2))
    else:
        width = max(len(finding.subject) for finding in findings)
        for finding in findings:
            print(f"{MARKS[finding.grade]} {finding.subject:{width}}  {finding.text}")
            if finding.hint:
                print(f"  {'':{width}}  → {finding.hint}")
    return 1 if any(finding.grade == "bad" for finding in findings) else 0


def _settings(file: str) -> tuple[Settings | None, list[str]]:
    """
    Raises:
        OSError, ValueError: it cannot be read.
    """
    if not file:
        return None, []
    from agent_ls.app.settings import parse_settings

    given: Any = json.loads(Path(file).read_text(encoding="utf-8"))
    if not isinstance(given, dict):
        raise ValueError("it holds something else")
    section = given.get("agentLs", given)
    return parse_settings(section if isinstance(section, dict) else {})
