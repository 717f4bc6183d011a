"""From a message to its handler and back: validate, call once, encode. One table of all messages.

A handler takes the context and the typed parameters, and returns a typed result. Whatever has a `clientKey`
changes something: it runs once per key (answers.py).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar, cast

from pydantic import ValidationError

from agent_ls.server import to_wire
from agent_ls.server.access import demand_access
from agent_ls.server.answers import Answers
from agent_ls.server.context import Context
from agent_ls.server.errors import InvalidParamsError, UnknownMethodError
from agent_ls.server.jsonrpc import RawJson
from agent_ls.server.protocol import Params, Wire

P = TypeVar("P", bound=Params)
Result: TypeAlias = Wire | RawJson


@dataclass(frozen=True, slots=True)
class Route:
    """`result` is what a handler's RawJson holds; None: the handler says it itself."""

    params: type[Params]
    handler: Callable[[Context, Any], Awaitable[Result]]
    result: type[Wire] | None = None

    @property
    def has_key(self) -> bool:
        return "client_key" in self.params.model_fields


def route(
    params: type[P],
    handler: Callable[[Context, P], Awaitable[Result]],
    result: type[Wire] | None = None,
) -> Route:
    return Route(params, handler, result)


class Router:
    """`standard` are messages of the protocol itself: plain parameters in, a plain result out."""

    def __init__(
        self,
        routes: Iterable[Route],
        context: Context,
        answers: Answers,
        standard: Mapping[str, Callable[[Any], Awaitable[Any]]] = MappingProxyType({}),
    ) -> None:
        self._routes = {route.params.method: route for route in routes}
        self._context = context
        self._answers = answers
        self._standard = standard

    async def call(self, method: str, raw: Any) -> RawJson:
        """
        Raises:
            RequestError, and what the layers behind raise; errors.py makes answers of them.
        """
        if answer_standard := self._standard.get(method):
            return RawJson(to_wire.dumped(await answer_standard(raw)))
        route = self._routes.get(method)
        if route is None:
            raise UnknownMethodError(method)
        params = _parsed(route.params, raw)

        async def work() -> RawJson:
            demand_access(self._context, params)
            result = await route.handler(self._context, params)
            answer = result if isinstance(result, RawJson) else RawJson(to_wire.encoded(result))
            return replace(answer, is_document=not method.startswith("agent/"))

        if not route.has_key:
            return await work()
        scope = getattr(params, "session_id", None) or ""
        key = cast("str", getattr(params, "client_key", ""))
        answer: RawJson = await self._answers.once(scope, key, method, work)
        return answer


def _parsed(params: type[Params], raw: Any) -> Params:
    try:
        return params.model_validate({} if raw is None else raw)
    except ValidationError as invalid:
        # The values are left out: they may be a prompt or a key.
        problems = (
            f"{'.'.join(map(str, error['loc'])) or 'params'}: {error['msg']}" for error in invalid.errors()
        )
        raise InvalidParamsError(params.method, "; ".join(problems)) from None
