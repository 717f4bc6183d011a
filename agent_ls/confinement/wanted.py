"""The limits of a confined process, as a value that can be sent to another process as JSON."""

from __future__ import annotations

from typing import NamedTuple


class Confinement(NamedTuple):
    """The limits of a process and its descendants. All paths are absolute, with links resolved.

    `writable` are folders. Files below `hidden` cannot be opened, although their names can be listed.
    `is_read_only`: the process cannot change anything. Changes that Landlock does not check (modes, times,
    attributes, keys) are forbidden too. `readable` are the only files and folders whose content and names can be
    read; () means all.
    """

    writable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    network: bool = False
    is_read_only: bool = False
    readable: tuple[str, ...] = ()
