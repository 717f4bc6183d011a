"""Read parts of the stored outputs of tool calls. Offsets count code points. Blocks."""

from __future__ import annotations

import codecs
from dataclasses import dataclass
from pathlib import Path

from agent_ls.loop.events.types import ToolCallEnd
from agent_ls.patterns import regex
from agent_ls.store import pages
from agent_ls.store.errors import UnknownOutputError
from agent_ls.store.layout import log_path, outputs_path
from agent_ls.store.recorder import output_path

_CHUNK_BYTES = 1 << 20
_EVENT_REF = regex(r"event-([1-9][0-9]{0,15})")


@dataclass(frozen=True, slots=True)
class OutputPart:
    """A part of an output. `next_offset` is the offset of the next part, None at the end of the output."""

    text: str
    total_chars: int
    next_offset: int | None


def read_part(folder: Path, output_ref: str, offset: int, limit: int) -> OutputPart:
    """Return up to `limit` characters of an output, starting at `offset`. `output_ref` refers to
    a file next to the log or to an event in the log.

    Raises:
        UnknownOutputError: the output does not exist.
        OSError: the output cannot be read.
    """
    if match := _EVENT_REF.fullmatch(output_ref):
        whole = _in_event(folder, int(match[1]), output_ref)
        text, total = whole[offset : offset + limit], len(whole)
    else:
        text, total = _in_file(output_path(outputs_path(folder), output_ref), output_ref, offset, limit)
    end = offset + len(text)
    return OutputPart(text, total, end if text and end < total else None)


def _in_event(folder: Path, seq: int, output_ref: str) -> str:
    with pages.open_part(log_path(folder)) as log:
        line = next(log.forward(log.find_offset(seq)), b"")
    envelope = pages.maybe_event(line)
    if envelope and envelope.seq == seq and isinstance(envelope.event, ToolCallEnd):
        return envelope.event.output
    raise UnknownOutputError(output_ref)


def _in_file(path: Path, output_ref: str, offset: int, limit: int) -> tuple[str, int]:
    """Return a part of the output, and the output's number of characters. Read the file in chunks."""
    decoder = codecs.getincrementaldecoder("utf-8")("replace")
    found: list[str] = []
    at = 0
    try:
        with path.open("rb") as file:
            while True:
                data = file.read(_CHUNK_BYTES)
                piece = decoder.decode(data, final=not data)
                found.append(piece[max(0, offset - at) : max(0, offset + limit - at)])
                at += len(piece)
                if not data:
                    return "".join(found), at
    except FileNotFoundError:
        raise UnknownOutputError(output_ref) from None
