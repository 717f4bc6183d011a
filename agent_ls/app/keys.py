"""Keys that are kept between starts: in the system's keyring where there is one, else in a file that says so (H16).

The environment goes before them, and what an editor gives goes before both (agent/setCredential). `keys.json` in the
state folder names the providers; it holds the keys themselves only where there is no keyring.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from agent_ls.app.errors import AppError, BadChoiceError
from agent_ls.app.state_folder import state_folder, write_private
from agent_ls.llm.client import spoken_providers
from agent_ls.llm.credentials import Credentials

SERVICE = "agent-ls"
_ABOUT = "API keys in clear text, for your eyes only. Written by `agent-ls keys`; change it with that."


class Ring(Protocol):
    """What we need of the system's keyring (the `keyring` package has these names)."""

    def get_password(self, service: str, name: str) -> str | None: ...
    def set_password(self, service: str, name: str, secret: str) -> None: ...
    def delete_password(self, service: str, name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class KeptKey:
    """Where the key of a provider comes from, in words; never the key."""

    provider: str
    place: str


class KeyStore:
    """`ring` None: there is no keyring."""

    def __init__(self, folder: Path | None = None, ring: Ring | None = None) -> None:
        self._path = (folder or state_folder()) / "keys.json"
        self._ring = ring

    def secrets(self) -> Mapping[str, str]:
        """All keys that are kept. A file or a keyring that cannot be read holds none."""
        kept = self._read()
        found = dict(kept["keys"])
        for name in kept["keyring"]:
            secret = self._from_ring(name)
            if secret:
                found[name] = secret
        return found

    def kept(self) -> tuple[KeptKey, ...]:
        kept = self._read()
        ringed = [KeptKey(name, "the system's keyring") for name in kept["keyring"]]
        filed = [KeptKey(name, f"{self._path} (clear text, mode 0600)") for name in kept["keys"]]
        return (*ringed, *filed)

    def set(self, provider: str, secret: str) -> KeptKey:
        """Keeps it, in place of an older one, and says where.

        Raises:
            BadChoiceError: no such provider, or what cannot be a key. The words never repeat it.
            AppError: it cannot be kept.
        """
        if provider not in spoken_providers():
            raise BadChoiceError(
                f"no provider is named {provider!r}", f"choose one of {', '.join(spoken_providers())}"
            )
        secret = secret.strip()
        if not secret or not (secret.isascii() and secret.isprintable()) or " " in secret:
            raise BadChoiceError("this is no key", "copy it once more, without what stands around it")
        self.remove(provider)
        kept = self._read()
        if self._to_ring(provider, secret):
            kept["keyring"] = sorted({*kept["keyring"], provider})
        else:
            kept["keys"][provider] = secret
        self._write(kept)
        return next(key for key in self.kept() if key.provider == provider)

    def remove(self, provider: str) -> bool:
        """True when there was one.

        Raises:
            AppError: the file cannot be written.
        """
        kept = self._read()
        if provider not in kept["keys"] and provider not in kept["keyring"]:
            return False
        if provider in kept["keyring"] and self._ring is not None:
            try:
                self._ring.delete_password(SERVICE, provider)
            except Exception:  # every backend has errors of its own; what is not there any more is no loss
                pass
        kept["keyring"] = [name for name in kept["keyring"] if name != provider]
        kept["keys"].pop(provider, None)
        self._write(kept)
        return True

    def _from_ring(self, name: str) -> str | None:
        ring = self._ring or open_ring()
        try:
            return ring.get_password(SERVICE, name) if ring else None
        except Exception:  # locked, or gone: as if it held none; the first call says that there is no key
            return None

    def _to_ring(self, name: str, secret: str) -> bool:
        if self._ring is None:
            return False
        try:
            self._ring.set_password(SERVICE, name, secret)
        except Exception:  # a machine without a session has a keyring that refuses
            return False
        return True

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(self._path.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            found = {}
        found = found if isinstance(found, dict) else {}
        keys, ring = found.get("keys"), found.get("keyring")
        return {
            "keys": {k: v for k, v in keys.items() if isinstance(v, str)} if isinstance(keys, dict) else {},
            "keyring": [name for name in ring if isinstance(name, str)] if isinstance(ring, list) else [],
        }

    def _write(self, kept: dict[str, Any]) -> None:
        try:
            write_private(self._path, json.dumps({"about": _ABOUT, **kept}, indent=2) + "\n")
        except OSError as error:
            raise AppError(
                f"the key cannot be kept: {error.strerror or error}",
                f"make {self._path.parent} writable, or set the provider's variable",
            ) from error


def open_ring() -> Ring | None:
    """The system's keyring by the optional package `keyring`; None without it or without a backend that works."""
    try:
        import keyring
        from keyring.backends import fail, null
    except Exception:  # not installed, or installed and broken
        return None
    backend: Any = keyring.get_keyring()
    return None if isinstance(backend, fail.Keyring | null.Keyring) else backend


def load_credentials(
    environ: Mapping[str, str] | None = None, folder: Path | None = None, ring: Ring | None = None
) -> Credentials:
    """The environment's keys, and those that are kept for providers without one there."""
    found = Credentials.from_environment(os.environ if environ is None else environ)
    for provider, secret in KeyStore(folder, ring).secrets().items():
        if not found.secret(provider):
            found.set(provider, secret)
    return found
