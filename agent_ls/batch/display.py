"""Display the progress of a batch: one line for each change. On a terminal, the last line is a summary that
is updated in place.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection
from typing import TextIO

from agent_ls.batch.folder import Result, to_json
from agent_ls.batch.runner import BatchProgress
from agent_ls.text import to_display_line

_CLEAR_LINE = "\r\x1b[K"
_LONGEST_SENTENCE = 600  # a reason and what to do about it


class Display:
    """Writes progress to `out`. With `as_json`, it writes one JSON object per result, and finally an object
    with the sums.
    """

    def __init__(
        self,
        out: TextIO,
        *,
        as_json: bool = False,
        columns: int = 100,
    ) -> None:
        self._out = out
        self._as_json = as_json
        self._is_live = out.isatty() and not as_json
        self._columns = columns
        self._began = time.monotonic()
        self._written: set[str] = set()

    def report(self, progress: BatchProgress, sentence: str) -> None:
        """Write a change of the progress: the new results as JSON, or `sentence` ("" for none) as text."""
        if self._as_json:
            for result in progress.results.values():
                if result.id not in self._written:
                    self._written.add(result.id)
                    self._out.write(json.dumps(to_json(result)) + "\n")
        else:
            line = f"{to_display_line(sentence, _LONGEST_SENTENCE)}\n" if sentence else ""
            live = self.line(progress)[: self._columns - 1] if self._is_live else ""
            self._out.write(f"{_CLEAR_LINE}{line}{live}" if self._is_live else line)
        self._out.flush()

    def line(self, progress: BatchProgress) -> str:
        """Return a one-line summary of the progress."""
        sums = Sums([*progress.results.values(), *progress.earlier])
        words = [
            f"{len(progress.results)} of {progress.total} done",
            f"{len(progress.running)} running",
            f"{progress.failed} failed",
            sums.describe(),
        ]
        left = progress.total - len(progress.results)
        if progress.new_results and left:
            seconds = (time.monotonic() - self._began) / progress.new_results * left
            words.append(f"about {_duration(seconds)} left")
        return ", ".join(words)

    def finish(self, progress: BatchProgress) -> None:
        """Write the final summary of the run."""
        if self._as_json:
            sums = Sums([*progress.results.values(), *progress.earlier])
            end = {
                "total": progress.total,
                "done": len(progress.results),
                "failed": progress.failed,
                "new": progress.new_results,
                "tokens": sums.tokens,
                "costUsd": sums.cost_usd,
            }
            self._out.write(json.dumps(end) + "\n")
        else:
            clear = _CLEAR_LINE if self._is_live else ""
            self._out.write(f"{clear}{self.line(progress)}\n")
            if unbegun := sum(not result.has_begun for result in progress.results.values()):
                self._out.write(
                    f"{unbegun} could not begin: mend the cause, and run the same command again\n"
                )
        self._out.flush()


class Sums:
    """Total tokens and cost of several results. `cost_usd` is the sum of the known costs, None if no cost is
    known.
    """

    def __init__(self, results: Collection[Result]) -> None:
        self.tokens = sum(result.input_tokens + result.output_tokens for result in results)
        costs = [result.cost_usd for result in results if result.cost_usd is not None]
        self.cost_usd = round(sum(costs), 6) if costs else None

    def describe(self) -> str:
        """Return the sums as text for users."""
        cost = "" if self.cost_usd is None else f", ${self.cost_usd:.2f}"
        return f"{self.tokens:,} tokens{cost}"


def _duration(seconds: float) -> str:
    minutes = round(seconds / 60)
    if minutes < 1:
        return f"{round(seconds)} s"
    return f"{minutes} min" if minutes < 120 else f"{minutes // 60} h {minutes % 60} min"
