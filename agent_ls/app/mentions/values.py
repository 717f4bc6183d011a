"""Values of mentions whose content is read when the message is sent. Files and folders are mentioned by name only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TypeAlias

from agent_ls.app.errors import AppError
from agent_ls.llm.messages import ImagePart


@dataclass(frozen=True, slots=True)
class SymbolMention:
    """A symbol of the editor's language servers. `path` "": search the workspace for the name.

    `line` and `end_line` count from 0; they say which of several symbols with this name is meant.
    """

    name: str
    path: str = ""
    line: int = 0
    end_line: int = 0


@dataclass(frozen=True, slots=True)
class DiffMention:
    """Changes since the last commit; with `is_staged` only what the next commit would contain."""

    is_staged: bool = False


@dataclass(frozen=True, slots=True)
class CommitMention:
    """A commit, named by anything that git resolves to one."""

    revision: str


@dataclass(frozen=True, slots=True)
class TerminalMention:
    """The end of a terminal's text: `text` as the client has it, or the output of the background process `name`."""

    name: str
    text: str | None = None


@dataclass(frozen=True, slots=True)
class PageMention:
    """A page of the web. The user is asked about it as about a call of web_fetch."""

    url: str


@dataclass(frozen=True, slots=True)
class FileMention:
    """A file or folder: its path is sent, and the content if it is an image that models can read."""

    path: str
    is_folder: bool = False


Mention: TypeAlias = SymbolMention | DiffMention | CommitMention | TerminalMention | PageMention | FileMention


@dataclass(frozen=True, slots=True)
class Attached:
    """Text and images that a mention adds to the message."""

    text: str = ""
    images: Sequence[ImagePart] = ()


class MentionError(AppError):
    """A mention cannot be attached, so the message is not sent. `hint` says what to do next."""

    is_usage = True
