"""Tell the user once what a model's requests are sent without."""

from __future__ import annotations

from collections.abc import Sequence

from agent_ls.llm.providers.base import ModelCapabilities
from agent_ls.llm.requests import Request

_EFFORTS = (
    "reasoning_effort", "reasoning", "reasoning.effort", "thinking", "output_config.effort",
    "generationConfig.thinkingConfig", "generationConfig.thinkingConfig.thinkingLevel",
    "generationConfig.thinkingConfig.thinkingBudget",
)  # fmt: skip


class LeftOutNotices:
    """The warnings of each model that no answer has carried yet. Each is given once."""

    def __init__(self) -> None:
        self._given: set[tuple[str, str]] = set()
        self._waiting: dict[str, list[str]] = {}

    def add(self, model: str, text: str) -> None:
        if (model, text) not in self._given:
            self._given.add((model, text))
            self._waiting.setdefault(model, []).append(text)

    def take(self, model: str) -> Sequence[str]:
        """Return the warnings for the next answer of the model, and remove them."""
        return self._waiting.pop(model, ())

    def add_left_out(self, request: Request, path: str) -> None:
        """Add a warning if the field of the body at `path` has a value that the user set."""
        if text := self._left_out(request, path):
            self.add(request.model, text)

    def withdraw_left_out(self, request: Request, path: str) -> None:
        """Remove a warning that no answer has carried: the field is sent again."""
        text, waiting = self._left_out(request, path), self._waiting.get(request.model, [])
        if text in waiting:
            waiting.remove(text)
            self._given.discard((request.model, text))

    def _left_out(self, request: Request, path: str) -> str:
        if path in _EFFORTS:
            name, value = "effort", request.reasoning_effort
        elif path.endswith("temperature"):
            name, value = "temperature", _text(request.temperature)
        elif path.endswith(("top_p", "topP")):
            name, value = "top_p", _text(request.top_p)
        else:
            return ""
        return f"The server does not accept the {name} {value} for this model: left out." if value else ""

    def add_unused_effort(self, request: Request, facts: ModelCapabilities) -> None:
        """Add a warning if an effort is set for a model that has none."""
        if facts.thinking == "none" and request.reasoning_effort not in (None, "none"):
            self.add(
                request.model,
                f"The effort {request.reasoning_effort} is left out: this model has no effort to set.",
            )


def _text(value: float | None) -> str | None:
    return None if value is None else f"{value:g}"
