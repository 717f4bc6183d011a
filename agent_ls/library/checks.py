"""Check the arguments that a program passes to a session, because type hints are not enforced at run time."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, get_args

from agent_ls.app.errors import BadChoiceError
from agent_ls.policy.situation import Mode, ReviewSetting
from agent_ls.tools.base import Tool


def check_choices(mode: object, review: object) -> None:
    """Check the values of `mode` and `review`. None means that the argument was not given.

    Raises:
        BadChoiceError: there is no such mode or review setting.
    """
    for name, value, kind in (("mode", mode, Mode), ("review", review, ReviewSetting)):
        known = get_args(kind)
        if value is not None and value not in known:
            raise BadChoiceError(f"{name}: {value!r} does not exist", f"choose one of {', '.join(known)}")


def check_parts(tools: Iterable[object], adapters: Mapping[str, Any] | None) -> None:
    """Check the program's tools and adapters.

    Raises:
        BadChoiceError: an object in `tools` is not a tool, or an object in `adapters` is not an adapter.
    """
    for tool in tools:
        if not isinstance(tool, Tool):
            hint = "create the tool from an async function with @agent_ls.tool"
            raise BadChoiceError(f"tools: {tool!r} is not a tool", hint)
    for name, adapter in (adapters or {}).items():
        missing = [it for it in ("stream", "complete", "close") if not callable(getattr(adapter, it, None))]
        if missing:
            hint = "an adapter has the methods of agent_ls.ProviderAdapter"
            raise BadChoiceError(f"adapters: {name!r} has no method {', '.join(missing)}", hint)
