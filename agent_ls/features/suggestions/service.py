"""Suggest text at a cursor with one model call, after checking that the file may be sent to the
model.
"""

from __future__ import annotations

import os
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace

import anyio.to_thread

from agent_ls.environments.errors import AccessDeniedError, SecretFileError
from agent_ls.features.suggestions.context import SuggestionContext
from agent_ls.features.suggestions.model_call import ModelCall, NoModelError
from agent_ls.features.suggestions.prompt import CursorText, clean_suggestion, suggestion_messages
from agent_ls.llm.errors import LlmError
from agent_ls.loop.model.other_models import reason, title
from agent_ls.profiles.base import ProviderProfile
from agent_ls.services.errors import AppError
from agent_ls.system import relative_to_folder

WANTED = "suggestions"

SEARCHED_CHARS = 64 * 1024
"""Maximum number of characters before and after the cursor in which keys are redacted.

Fewer characters are sent to the model.
"""

ANSWER_S = 30.0
"""Time limit of the model call in seconds. A later suggestion would be useless."""


class NoSuggestionError(AppError):
    """No suggestion can be made. The message says why, `hint` says what the user can do.

    `cause` identifies the reason, so that each reason is displayed only once.
    """

    kind = "no_suggestion"

    def __init__(self, message: str, hint: str = "", cause: str = "") -> None:
        super().__init__(message, hint)
        self.cause = cause or message


class Suggestions:
    """Suggests text at the cursor, for all documents that are open in one process."""

    def __init__(self, context: SuggestionContext) -> None:
        self._context = context
        self._call = ModelCall(context.models, context.settings)

    async def suggest(self, path: str, text: CursorText, folders: Sequence[str]) -> str:
        """Return the text to insert at the cursor; "" if the model suggests none.

        The model gets the path relative to the innermost of the open `folders` that contain the
        file; `text.name` is ignored.

        Raises:
            NoSuggestionError: the file must not be sent, no model can be called, or the call failed.
        """
        name = await anyio.to_thread.run_sync(self._checked_name, path, folders)
        try:
            profile = self._call.profile(WANTED)
        except NoModelError as error:
            raise NoSuggestionError(str(error), error.hint) from None
        # Remove API keys before the text is cut, because a part of a key would not be recognised.
        before = self._context.clean(text.before[-SEARCHED_CHARS:])
        after = self._context.clean(text.after[:SEARCHED_CHARS])
        answer = await self._answer(profile, replace(text, name=name, before=before, after=after))
        return clean_suggestion(answer, text.before, text.after)

    def _checked_name(self, path: str, folders: Sequence[str]) -> str:
        """Return the path relative to the innermost open folder that contains the file. Blocks.

        Raises:
            NoSuggestionError: the file must not be sent.
        """
        around = [folder for folder in folders if relative_to_folder(path, folder)]
        if not around:
            raise _not_sent(path, "the file is in no folder that is open in the editor", "Open its folder")
        folder = max(around, key=len)
        name = relative_to_folder(path, folder)
        if not self._context.is_trusted(around):
            raise NoSuggestionError(
                f"no file of {folder} is sent to a model, because you have not trusted this folder",
                "Run `agent-ls trust add` in this folder if you know where its files come from",
            )
        bounds = self._context.bounds(folders)
        try:
            real = bounds.check_readable(path)
            with suppress(FileNotFoundError):  # a new file that is not saved yet
                bounds.check_opened(path, real, os.stat(real))
        except SecretFileError:
            raise _not_sent(name, "its name looks like the name of a file with secrets", "") from None
        except AccessDeniedError as error:
            why = str(error).removeprefix(f"Access denied: {path}: ")
            raise _not_sent(name, why, "") from error
        except OSError as error:
            raise _not_sent(name, f"the file cannot be checked: {error.strerror or error}", "") from error
        return name

    async def _answer(self, profile: ProviderProfile, text: CursorText) -> str:
        try:
            return await self._call.answer(profile, suggestion_messages(text), WANTED, ANSWER_S)
        except LlmError as error:
            message = f"{title(profile)} failed: {reason(error)}"
            raise NoSuggestionError(message, error.hint, f"{title(profile)} {error.kind}") from error
        except TimeoutError:
            message = f"{title(profile)} did not answer within {ANSWER_S:.0f} seconds"
            raise NoSuggestionError(message, "Name a faster model in `models.suggestions`") from None


def _not_sent(name: str, why: str, hint: str) -> NoSuggestionError:
    return NoSuggestionError(f"{name} is not sent to a model: {why}", hint)
