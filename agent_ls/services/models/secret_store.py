"""Store secrets by name between starts: in the system's keyring, or else in a file of mode 0600.

The file lists the names of all secrets. Without a keyring it also contains the secrets.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from agent_ls.services.settings.state_folder import OTHER_FOLDER, not_stored, write_private
from agent_ls.system import file_signature

SERVICE = "agent-ls"


class Keyring(Protocol):
    """Interface to the system's keyring. The methods are functions of the `keyring` package."""

    def get_password(self, service: str, name: str) -> str | None: ...
    def set_password(self, service: str, name: str, secret: str) -> None: ...
    def delete_password(self, service: str, name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class StoredKey:
    """Where the key of a provider is stored. `location` is a phrase for the user. Never contains the key."""

    provider: str
    location: str


class SecretStore:
    """Stores secrets. `ring` is the system's keyring, None if there is none. `about` is the first line of the file;
    `other_way` is what else can be done if the file cannot be written, and begins with a verb.
    """

    def __init__(self, path: Path, ring: Keyring | None, about: str, other_way: str = OTHER_FOLDER) -> None:
        self.path = path
        self._ring = ring
        self._about = about
        self._other_way = other_way

    def secrets(self) -> Mapping[str, str]:
        """Return all stored secrets. A file or keyring that cannot be read counts as empty."""
        kept = self._read()
        found = dict(kept["keys"])
        for name in kept["keyring"]:
            secret = self._from_ring(name)
            if secret:
                found[name] = secret
        return found

    def stamp(self) -> tuple[int, int, int]:
        """Return a value that differs after each change of the file."""
        try:
            return file_signature(self.path.stat())
        except OSError:
            return 0, 0, 0

    def secret(self, name: str) -> str:
        """Return the secret with this name, or ""."""
        kept = self._read()
        if name in kept["keyring"]:
            return self._from_ring(name) or ""
        return str(kept["keys"].get(name, ""))

    def list_keys(self) -> tuple[StoredKey, ...]:
        kept = self._read()
        ringed = [StoredKey(name, "the system's keyring") for name in kept["keyring"]]
        filed = [StoredKey(name, f"{self.path} (clear text, mode 0600)") for name in kept["keys"]]
        return (*ringed, *filed)

    def put(self, name: str, secret: str) -> StoredKey:
        """Store a secret, replacing an older one. Return where the secret is stored.

        Raises: AppError: the secret cannot be stored.
        """
        self.remove(name)
        kept = self._read()
        if self._to_ring(name, secret):
            kept["keyring"] = sorted({*kept["keyring"], name})
        else:
            kept["keys"][name] = secret
        self._write(kept)
        return next(key for key in self.list_keys() if key.provider == name)

    def remove(self, name: str) -> bool:
        """Delete a secret. Return whether the secret existed.

        Raises: AppError: the file cannot be written.
        """
        kept = self._read()
        if name not in kept["keys"] and name not in kept["keyring"]:
            return False
        if name in kept["keyring"] and self._ring is not None:
            try:
                self._ring.delete_password(SERVICE, name)
            except Exception:  # each backend has its own exceptions; a missing secret needs no deletion
                pass
        kept["keyring"] = [it for it in kept["keyring"] if it != name]
        kept["keys"].pop(name, None)
        self._write(kept)
        return True

    def _from_ring(self, name: str) -> str | None:
        ring = self._ring or open_ring()
        try:
            return ring.get_password(SERVICE, name) if ring else None
        # the keyring is locked or unavailable: treat it as empty; the first model call reports the missing
        # key
        except Exception:
            return None

    def _to_ring(self, name: str, secret: str) -> bool:
        if self._ring is None:
            return False
        try:
            self._ring.set_password(SERVICE, name, secret)
        except Exception:  # without a desktop session, the keyring may refuse
            return False
        return True

    def _read(self) -> dict[str, Any]:
        try:
            found = json.loads(self.path.read_text(encoding="utf-8"))
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
            write_private(self.path, json.dumps({"about": self._about, **kept}, indent=2) + "\n")
        except OSError as error:
            raise not_stored("the key", error, self.path.parent, self._other_way) from error


def open_ring() -> Keyring | None:
    """Return the system's keyring (optional package `keyring`); None without the package or a working backend."""
    try:
        import keyring
        from keyring.backends import fail, null
    except Exception:  # the package is missing or broken
        return None
    backend: Any = keyring.get_keyring()
    return None if isinstance(backend, fail.Keyring | null.Keyring) else backend
