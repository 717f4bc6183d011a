"""Dispatch a message by its method: validate the parameters, call the handler once, encode the result.

A handler takes the context and the typed parameters and returns a typed result. A message with a `clientKey`
changes state, so its handler runs once per key (idempotency.py).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Any, TypeAlias, TypeVar, cast

from agent_ls.server.protocol import Params, Wire
from agent_ls.server.rpc import to_wire
from agent_ls.server.rpc.access import check_access
from agent_ls.server.rpc.context import Context
from agent_ls.server.rpc.idempotency import RecentAnswers
from agent_ls.server.rpc.parameters import read_params
from agent_ls.server.transport.errors import UnknownMethodError
from agent_ls.server.transport.jsonrpc import RawJson

P = TypeVar("P", bound=Params)
Result: TypeAlias = Wire | RawJson


@dataclass(frozen=True, slots=True)
class Route:
    """A message and its handler. `result` is the result type of a handler that returns RawJson; None if the
    handler's annotation has the result type.
    """

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
    """Dispatches messages by method. `standard` are handlers of standard LSP messages, which take and return
    plain JSON values.
    """

    def __init__(
        self,
        routes: Mapping[str, Route],
        context: Context,
        answers: RecentAnswers,
        standard: Mapping[str, Callable[[Any], Awaitable[Any]]] = MappingProxyType({}),
    ) -> None:
        self._routes = routes
        self._context = context
        self._answers = answers
        self._standard = standard

    async def call(self, method: str, raw: Any) -> RawJson:
        """Answer one message.

        Raises:
            RequestError: or an error of a lower layer; transport/errors.py turns both into error responses.
        """
        if answer_standard := self._standard.get(method):
            return RawJson(to_wire.dump_json(await answer_standard(raw)))
        route = self._routes.get(method)
        if route is None:
            raise UnknownMethodError(method)
        params = read_params(route.params, route.params.method, raw)

        async def work() -> RawJson:
            check_access(self._context, params)
            result = await route.handler(self._context, params)
            answer = result if isinstance(result, RawJson) else RawJson(to_wire.encode_result(result))
            return replace(answer, is_document=not method.startswith("agent/"))

        if not route.has_key:
            return await work()
        scope = getattr(params, "session_id", None) or ""
        key = cast("str", getattr(params, "client_key", ""))
        answer: RawJson = await self._answers.run_once(scope, key, method, work)
        return answer
