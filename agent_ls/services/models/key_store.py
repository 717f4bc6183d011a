"""Store API keys for later starts of agent-ls: in the keyring of the system, or in a file if the system has no keyring.

A key from the editor (agent/setCredential) takes precedence over a key in the environment, which takes precedence
over a stored key. `keys.json` in the state folder lists the providers; without a keyring it also contains their keys.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from agent_ls.llm.client import supported_providers
from agent_ls.llm.credentials import OTHER_PROVIDER_NAMES, Credentials, take_keys_from_environment
from agent_ls.near_names import did_you_mean
from agent_ls.services.errors import BadChoiceError
from agent_ls.services.models.secret_store import Keyring, SecretStore, StoredKey, open_ring as open_ring
from agent_ls.services.settings.state_folder import state_folder
from agent_ls.system import erase_environment_variables, forbid_process_inspection

_ABOUT = (
    "API keys in clear text, for your eyes only. Written by `agent-ls keys`; use that command to change it."
)


class KeyStore(SecretStore):
    """Stores the keys of providers. `ring` is the system's keyring, None if there is none."""

    def __init__(self, folder: Path | None = None, ring: Keyring | None = None) -> None:
        path = (folder or state_folder()) / "keys.json"
        super().__init__(path, ring, _ABOUT, "set the provider's environment variable")

    def set(self, provider: str, secret: str) -> StoredKey:
        """Store the key of a provider, replacing an older key. Return where the key is stored.

        Raises:
            BadChoiceError: the provider is unknown, or the key is malformed. The message never contains the key.
            AppError: the key cannot be stored.
        """
        if provider not in supported_providers():
            raise unknown_provider(provider)
        secret = secret.strip()
        if not secret or not (secret.isascii() and secret.isprintable()) or " " in secret:
            raise BadChoiceError(
                "this is not an API key: the text is empty, or contains spaces or other invalid characters",
                "copy the key again, without quotes or spaces around it",
            )
        return self.put(provider, secret)


def unknown_provider(name: str) -> BadChoiceError:
    """Return the error about a name that no provider has."""
    known = supported_providers()
    hints = (f"choose one of {', '.join(known)}", did_you_mean(name, known, OTHER_PROVIDER_NAMES))
    return BadChoiceError(f"no provider is named {name!r}", "; ".join(filter(None, hints)))


def protect_keys() -> None:
    """Prevent other processes from reading the API keys of this process, in its memory or its environment.

    Call this function once, before any process is started.
    """
    forbid_process_inspection()
    erase_environment_variables(take_keys_from_environment())


class StoredCredentials(Credentials):
    """Keys from the environment and stored keys. Keys that another process stores can be read at any time."""

    _store: KeyStore | None = None
    _stamp: tuple[int, int, int] | None = None
    _stored: Mapping[str, str] = {}

    def connect(self, store: KeyStore) -> None:
        """Add the stored keys of providers without a key in the environment. Blocks."""
        self._store = store
        for provider, secret in self.read_changed().items():
            self.set(provider, secret)

    def files(self) -> Sequence[str]:
        """Return the file at which `may_have_changed` looks, if there is one."""
        return [str(self._store.path)] if self._store else []

    def may_have_changed(self) -> bool:
        """Return whether the file of the stored keys has changed since the last read. Blocks."""
        return self._store is not None and self._store.stamp() != self._stamp

    def read_changed(self) -> Mapping[str, str | None]:
        """Return the keys that were stored or removed (None) since the last read. Blocks. A provider whose key
        came from the environment or the editor is left out.
        """
        stamp = self._store.stamp() if self._store else None
        if self._store is None or stamp == self._stamp:
            return {}
        before, self._stored, self._stamp = self._stored, self._store.secrets(), stamp
        changed = {it: self._stored.get(it) for it in dict.fromkeys((*before, *self._stored))}
        return {
            it: key
            for it, key in changed.items()
            if key != (old := before.get(it)) and self.secret(it) in ("", old)
        }


def load_credentials(
    environ: Mapping[str, str] | None = None, folder: Path | None = None, ring: Keyring | None = None
) -> StoredCredentials:
    """Return the keys from the environment, and stored keys for providers without a key in the environment."""
    found = StoredCredentials.from_environment(environ)
    found.connect(KeyStore(folder, ring))
    return found
