"""Review a folder in a pipeline, as SARIF: python examples/review_sarif.py FOLDER [PROVIDER] > review.sarif"""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Annotated, Literal

import agent_ls


class Review:
    """The findings of one review."""

    def __init__(self) -> None:
        self.results: list[dict[str, object]] = []

    @agent_ls.tool
    def report(
        self,
        path: Annotated[str, "relative to the working directory"],
        line: Annotated[int, "counts from 1"],
        level: Literal["error", "warning", "note"],
        message: Annotated[str, "one sentence: what is wrong, and what to do"],
    ) -> str:
        """Report one problem that you have verified in the code."""
        region = {"startLine": line}
        place = {"physicalLocation": {"artifactLocation": {"uri": path}, "region": region}}
        self.results.append({"level": level, "message": {"text": message}, "locations": [place]})
        return "reported"

    def sarif(self) -> dict[str, object]:
        driver = {"name": "agent-ls review"}
        return {"version": "2.1.0", "runs": [{"tool": {"driver": driver}, "results": self.results}]}


async def main(folder: str, provider: str = "") -> None:
    review = Review()
    async with agent_ls.open_session(
        folder, provider=provider, mode="plan", trusted=True, tools=[review.report]
    ) as session:
        await session.ask("Review this project for bugs. Report each one with the tool `report`.")
    json.dump(review.sarif(), sys.stdout, indent=2)
    sys.exit(1 if any(result["level"] == "error" for result in review.results) else 0)


asyncio.run(main(*sys.argv[1:]))
