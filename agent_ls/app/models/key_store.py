"""Keys that are kept between starts: in the system's keyring where there is one, else in a file that says so (H16).

The environment goes before them, and what an editor gives goes before both (agent/setCredential). `keys.json` in the
state folder names the providers; it holds the keys themselves only where there is no keyring.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from agent_ls.app.errors import BadChoiceError
from agent_ls.app.models.secret_store import KeptKey, Ring, SecretStore, open_ring as open_ring
from agent_ls.app.settings.state_folder import state_folder
from agent_ls.llm.client import supported_providers
from agent_ls.llm.credentials import Credentials, take_keys_from_environment
from agent_ls.system import erase_environment_variables, forbid_process_inspection

_ABOUT = "API keys in clear text, for your eyes only. Written by `agent-ls keys`; change it with that."


class KeyStore(SecretStore):
    """The keys of providers. `ring` None: there is no keyring."""

    def __init__(self, folder: Path | None = None, ring: Ring | None = None) -> None:
        path = (folder or state_folder()) / "keys.json"
        super().__init__(path, ring, _ABOUT, ", or set the provider's variable")

    def set(self, provider: str, secret: str) -> KeptKey:
        """Keeps it, in place of an older one, and says where.

        Raises:
            BadChoiceError: no such provider, or what cannot be a key. The words never repeat it.
            AppError: it cannot be kept.
        """
        if provider not in supported_providers():
            raise BadChoiceError(
                f"no provider is named {provider!r}", f"choose one of {', '.join(supported_providers())}"
            )
        secret = secret.strip()
        if not secret or not (secret.isascii() and secret.isprintable()) or " " in secret:
            raise BadChoiceError(
                "this is not an API key: it is empty, or contains spaces or characters that no key has",
                "copy the key again, without quotes or spaces around it",
            )
        return self.put(provider, secret)


def protect_keys() -> None:
    """Keep other processes from reading the keys of this one; to be called once, before anything is started."""
    forbid_process_inspection()
    erase_environment_variables(take_keys_from_environment())


def load_credentials(
    environ: Mapping[str, str] | None = None, folder: Path | None = None, ring: Ring | None = None
) -> Credentials:
    """The environment's keys, and those that are kept for providers without one there."""
    found = Credentials.from_environment(environ)
    for provider, secret in KeyStore(folder, ring).secrets().items():
        if not found.secret(provider):
            found.set(provider, secret)
    return found
