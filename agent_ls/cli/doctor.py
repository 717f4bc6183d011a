"""agent-ls doctor: what is there, what is missing, and what to do about it."""

from __future__ import annotations

import argparse

MARKS = {"good": "✓", "note": "·", "bad": "✗"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--offline", action="store_true", help="ask no provider")


def run(options: argparse.Namespace) -> int:
    import anyio

    from agent_ls.app.doctor import examine

    async def found() -> int:
        findings = await examine(asks_providers=not options.offline)
        width = max(len(finding.subject) for finding in findings)
        for finding in findings:
            print(f"{MARKS[finding.grade]} {finding.subject:{width}}  {finding.text}")
            if finding.hint:
                print(f"  {'':{width}}  → {finding.hint}")
        return 1 if any(finding.grade == "bad" for finding in findings) else 0

    return anyio.run(found)
