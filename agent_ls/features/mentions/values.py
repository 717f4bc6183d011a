"""Values of mentions whose content is read when the message is sent. Files and folders are mentioned by name only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from agent_ls.llm.messages import ImagePart
from agent_ls.services.errors import AppError


@dataclass(frozen=True, slots=True)
class SymbolMention:
    """A symbol of the editor's language servers. `path` "": search the workspace for the name.

    `line` and `end_line` (from 0) select one of several symbols with the same name.
    """

    name: str
    path: str = ""
    line: int = 0
    end_line: int = 0


@dataclass(frozen=True, slots=True)
class DiffMention:
    """Changes since the last commit. `is_staged`: only the staged changes."""

    is_staged: bool = False


@dataclass(frozen=True, slots=True)
class CommitMention:
    """A commit, named by any revision that git resolves to a commit."""

    revision: str


@dataclass(frozen=True, slots=True)
class TerminalMention:
    """The last lines of a terminal: `text` from the client, or else the output of the background process `name`."""

    name: str
    text: str | None = None


@dataclass(frozen=True, slots=True)
class PageMention:
    """A web page. The user is asked for approval as for a call of the tool web_fetch."""

    url: str


@dataclass(frozen=True, slots=True)
class FileMention:
    """A file or folder: its path is sent, and the content if it is an image that models can read."""

    path: str
    is_folder: bool = False


Mention: TypeAlias = SymbolMention | DiffMention | CommitMention | TerminalMention | PageMention | FileMention


@dataclass(frozen=True, slots=True)
class AttachedContent:
    """Text and images that a mention adds to the message."""

    text: str = ""
    images: Sequence[ImagePart] = ()


class MentionError(AppError):
    """A mention cannot be attached, so the message is not sent. `hint` says what to do next."""

    is_usage = True
