"""The services that suggestions need to decide which text may be sent to which model."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable
from dataclasses import dataclass

from agent_ls.loop.calls.redaction import redacted
from agent_ls.services.models.service import ModelService
from agent_ls.services.permissions.paths import PathBounds, places_of
from agent_ls.services.permissions.trust import WorkspaceTrust
from agent_ls.services.settings.model import Settings


@dataclass(frozen=True, slots=True)
class SuggestionContext:
    """Decides which text may be sent to a model.

    `settings` returns the current settings, `secrets` the keys.
    """

    models: ModelService
    trust: WorkspaceTrust
    settings: Callable[[], Settings]
    secrets: Callable[[], Collection[str]]

    def is_trusted(self, folders: Iterable[str]) -> bool:
        """Return whether the user trusts all of these folders. Blocks."""
        return all(self.trust.get_trust(folder) == "trusted" for folder in folders)

    def bounds(self, folders: Iterable[str]) -> PathBounds:
        """Return the path policy of the open folders.

        It does not allow the folders that the settings add for sessions, or the folder for temporary files.
        """
        return PathBounds(places_of(*folders, settings=self.settings().paths.without_added()))

    def clean(self, text: str) -> str:
        """Return the text with keys redacted."""
        return redacted(text, self.secrets())
