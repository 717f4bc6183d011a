"""Read text of servers that send all text so far in each event, in place of what is new."""

from __future__ import annotations

_LEAST_CHARACTERS = 4  # different ones in three pieces; "6", "66", "666" may be what a model says


class RepeatedText:
    """Returns what is new in each piece of text. Whether pieces repeat the text so far is clear with the third one.

    Until then, a second piece that begins with the first one is held back. If no third one comes, it repeats the first
    one, unless that is as short as a word that a model says twice.
    """

    def __init__(self) -> None:
        self._pieces: list[str] = []  # the first two, until it is clear
        self._whole: str | None = None  # the last piece, if each one repeats the text so far
        self._is_plain = False

    def feed(self, piece: str) -> str:
        """Return the text that can be displayed now."""
        if self._is_plain or not piece:
            return piece
        if self._whole is not None:
            return self._new(piece)
        last = self._pieces[-1] if self._pieces else ""
        if not last or (piece.startswith(last) and len(piece) > len(last) and len(self._pieces) == 1):
            self._pieces.append(piece)
            return "" if last else piece
        is_longer = piece.startswith(last) and len(piece) > len(last)
        if is_longer and len(set(piece)) >= _LEAST_CHARACTERS:
            self._whole = piece
            return piece[len(self._pieces[0]) :]
        return self.close(is_last=False) + piece

    def close(self, *, is_last: bool = True) -> str:
        """Return the text that was held back. Later pieces are new. `is_last`: no further piece follows here."""
        held = "" if self._is_plain or self._whole is not None else "".join(self._pieces[1:])
        if is_last and held and len(set(self._pieces[0])) >= _LEAST_CHARACTERS:
            held = held[len(self._pieces[0]) :]
        self._is_plain = self._whole is None
        return held

    def _new(self, piece: str) -> str:
        before = self._whole or ""
        if before.startswith(piece):
            return ""
        is_longer = piece.startswith(before)
        self._whole = piece if is_longer else before + piece
        return piece[len(before) :] if is_longer else piece
