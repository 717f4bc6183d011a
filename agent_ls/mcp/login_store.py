"""The stored login of one MCP server: tokens, and what is needed to renew them."""

from __future__ import annotations

import json
import math
import os
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Protocol

import anyio
import anyio.to_thread

from agent_ls.store.locks import kernel_lock

LOCK_S = 60
"""How long a renewal waits for the renewal of another process."""
_TURN_S = 0.05


class Secrets(Protocol):
    """Interface that stores logins by name. Its methods block."""

    def secret(self, name: str) -> str: ...

    def put(self, name: str, secret: str) -> object: ...

    def remove(self, name: str) -> bool: ...


@dataclass(frozen=True, slots=True)
class KeptLogin:
    """A login. `due` is the time from which the token `access` must be renewed, infinite if unknown.

    `endpoint` is the address that renews tokens for `resource`; `method` is the way in which the client proves itself
    there. `wanted` are permissions that the server has asked for since the login.
    """

    access: str = ""
    refresh: str = ""
    due: float = math.inf
    scope: str = ""
    endpoint: str = ""
    resource: str = ""
    client_id: str = ""
    client_secret: str = ""
    method: str = ""
    wanted: str = ""

    @property
    def is_due(self) -> bool:
        """Return whether the token must be renewed before it is used."""
        return self.can_renew and self.due <= time.time()

    @property
    def can_renew(self) -> bool:
        return bool(self.refresh and self.endpoint)


class LoginStore:
    """Stores the login of one address, so that its tokens never reach another server.

    `hide` gets the secrets of a login, which are then never displayed. `lock` is a file on which the processes of the
    user take turns.
    """

    def __init__(
        self, url: str, secrets: Secrets, hide: Callable[[list[str]], object], lock: Path | None = None
    ) -> None:
        self._url = url
        self._secrets = secrets
        self._hide = hide
        self._lock = lock

    async def read(self) -> KeptLogin | None:
        """Return the stored login; None if there is none, or if it is damaged or belongs to another address."""
        text = await anyio.to_thread.run_sync(self._secrets.secret, name_of(self._url))
        try:
            found = json.loads(text) if text else {}
        except ValueError:
            return None
        if not isinstance(found, dict) or found.get("url") != self._url:
            return None
        plain = KeptLogin()
        kept = {it.name: found[it.name] for it in fields(KeptLogin) if it.name in found}
        if any(
            not isinstance(value, int | float if name == "due" else type(getattr(plain, name)))
            for name, value in kept.items()
        ):
            return None
        login = KeptLogin(**kept)
        self._hide([it for it in (login.access, login.refresh, login.client_secret) if it])
        return login

    async def keep(self, login: KeptLogin) -> None:
        """Store a login instead of the former one.

        Raises:
            Exception: the store of secrets cannot be written.
        """
        self._hide([it for it in (login.access, login.refresh, login.client_secret) if it])
        text = json.dumps({"url": self._url, **asdict(login)})
        await anyio.to_thread.run_sync(self._secrets.put, name_of(self._url), text)

    async def want(self, scope: str) -> None:
        """Note permissions that the next login must ask for, besides those of this login."""
        async with self.turn():
            login = await self.read()
            if login and (wanted := union(login.wanted, scope)) != login.wanted:
                await self.keep(replace(login, wanted=wanted))

    async def forget(self) -> None:
        await anyio.to_thread.run_sync(self._secrets.remove, name_of(self._url))

    @asynccontextmanager
    async def turn(self) -> AsyncIterator[None]:
        """Keep other tasks and processes from changing logins until the end of the block. Gives up after LOCK_S."""
        descriptor = None
        if self._lock is not None:
            with suppress(OSError):  # a folder that cannot be written: nobody changes logins in it
                self._lock.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
                descriptor = os.open(self._lock, os.O_RDWR | os.O_CREAT, 0o600)
        if descriptor is None:
            yield
            return
        try:
            with anyio.move_on_after(LOCK_S):
                while not _is_ours(descriptor):  # noqa: ASYNC110  # no event tells that another process is done
                    await anyio.sleep(_TURN_S)
            yield
        finally:
            os.close(descriptor)


def _is_ours(descriptor: int) -> bool:
    try:
        kernel_lock(descriptor)
    except (BlockingIOError, PermissionError):
        return False
    except OSError:  # a file system without locks
        return True
    return True


def name_of(url: str) -> str:
    """Return the name under which the login of an address is stored."""
    return f"mcp {url}"


def union(*scopes: str | None) -> str:
    """Return the permissions of several lists, each once."""
    return " ".join(dict.fromkeys(word for scope in scopes for word in (scope or "").split()))
