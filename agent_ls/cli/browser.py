"""Open a page in the user's browser."""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress

from agent_ls.addresses import split_address
from agent_ls.program_lookup import find_program, safe_path

_OPENERS = (("xdg-open",), ("wslview",), ("gio", "open"), ("sensible-browser",))
_WAIT_S = 5.0


def open_browser(address: str) -> bool:
    """Open a web address in the user's browser. Return whether a browser was started. Blocks.

    The standard module webbrowser is not used, because it starts the first browser on PATH, also one of the project.
    """
    if split_address(address).scheme not in ("http", "https"):
        return False  # a server may name any address
    if sys.platform == "win32":
        os.startfile(address)
        return True
    for command in _commands(os.environ):
        if program := find_program(command[0]):
            words = [word.replace("%s", address) for word in command[1:]]
            if not any("%s" in word for word in command):
                words.append(address)
            return _has_started([program, *words])
    return False


def _commands(environ: Mapping[str, str]) -> Iterator[Sequence[str]]:
    for named in environ.get("BROWSER", "").split(os.pathsep):
        with suppress(ValueError):  # an unclosed quote
            if words := shlex.split(named):
                yield words
    yield from (("open",),) if sys.platform == "darwin" else _OPENERS


def _has_started(command: Sequence[str]) -> bool:
    try:
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
            # such as xdg-open, which searches PATH for browsers
            env={**os.environ, "PATH": safe_path(os.environ.get("PATH"))},
        )
        return process.wait(_WAIT_S) == 0
    except subprocess.TimeoutExpired:
        return True  # this program is the browser
    except OSError:
        return False
