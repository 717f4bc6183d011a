"""agent-ls panel: serve the chat page to a browser on this machine."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--port", default="0", help="a port, or HOST:PORT of this machine; without it a free port is used"
    )
    parser.add_argument("--no-open", action="store_true", help="print the link only, do not open a browser")


def run(options: argparse.Namespace) -> int:
    import anyio

    from agent_ls.panel.home import HomeStartError
    from agent_ls.panel.page import PageMissingError, load_page
    from agent_ls.panel.serve import run_panel
    from agent_ls.server.transport.tcp import ListenError, parse_address

    if sys.platform == "win32":
        print("agent-ls panel does not work on Windows yet. In WSL it does.", file=sys.stderr)
        return 1
    opens = not options.no_open and _has_display(os.environ)
    try:
        address = parse_address(options.port)
        return anyio.run(partial(run_panel, address, load_page(), Path.cwd(), partial(_announce, opens)))
    except ListenError as error:
        print(f"agent-ls panel: {error}", file=sys.stderr)
        return 2
    except (HomeStartError, PageMissingError) as error:
        print(f"agent-ls panel: {error}", file=sys.stderr)
    except OSError as error:
        where = f": {error.filename}" if error.filename else ""
        print(
            f"agent-ls panel: the panel could not be started: {error.strerror or error}{where}",
            file=sys.stderr,
        )
    return 1


def _has_display(environ: Mapping[str, str]) -> bool:
    """Return whether a browser can be opened on this machine. Is False over SSH, and on Linux without a
    display.
    """
    if environ.get("SSH_CONNECTION"):
        return False
    return sys.platform == "darwin" or bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


async def _announce(opens: bool, new_link: Callable[[], str]) -> None:
    """Print a link, and a new link each time the user presses Enter. Each link works only once."""
    import anyio
    import anyio.to_thread

    link = new_link()
    print(f"agent-ls panel: {link}", flush=True)
    print("The link works once, in one browser. Ctrl+C ends the panel.", flush=True)
    if opens:
        from agent_ls.cli.browser import open_browser

        await anyio.to_thread.run_sync(open_browser, link)
    if not sys.stdin or not sys.stdin.isatty():
        return
    print("Press Enter for another link.", flush=True)
    while True:
        await anyio.wait_readable(sys.stdin)
        if not os.read(sys.stdin.fileno(), 4096):
            return
        print(f"agent-ls panel: {new_link()}", flush=True)
