"""agent-ls serve: run the language server over stdio, TCP or WebSocket."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Awaitable, Callable
from functools import partial
from typing import TYPE_CHECKING

from agent_ls.cli.waiting import name_client

if TYPE_CHECKING:
    from pathlib import Path


def add_arguments(parser: argparse.ArgumentParser) -> None:
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--stdio", action="store_true", help="serve over stdin and stdout (default)")
    ways.add_argument(
        "--tcp", metavar="PORT", help="serve editors that connect to this TCP port of this machine"
    )
    ways.add_argument(
        "--ws", metavar="PORT", help="serve editors that connect by WebSocket to this port of this machine"
    )
    parser.add_argument(
        "--origin",
        action="append",
        default=[],
        metavar="ORIGIN",
        help="with --ws: the origin of a web page that may connect, such as https://example.org; by default no "
        "web page may connect",
    )
    parser.add_argument(
        "--token-file",
        default="",
        metavar="FILE",
        help="a file with the token that clients have to send; created if missing",
    )


def run(options: argparse.Namespace) -> int:
    address = options.tcp if options.ws is None else options.ws
    if address is not None:
        return _listen(address, options)
    name_client("serve", "an editor", "installation")
    from agent_ls.server.start import main

    return main(options.token_file)


def _listen(address: str, options: argparse.Namespace) -> int:
    from pathlib import Path

    import anyio

    from agent_ls.server.transport.tcp import ListenError, parse_address, read_token

    try:
        where = parse_address(address)
        if not options.token_file:
            raise ListenError("name a file for the token: --token-file FILE; it is created if it is missing")
        path = Path(options.token_file).absolute()
        read_token(path)
        return anyio.run(_listener(options, where, path))
    except ListenError as error:
        print(f"agent-ls serve: {error}", file=sys.stderr)
        return 2
    except OSError as error:
        print(
            f"agent-ls serve: {address} cannot be used for listening: {error.strerror or error}",
            file=sys.stderr,
        )
    return 1


def _listener(
    options: argparse.Namespace, where: tuple[str, int], token_file: Path
) -> Callable[[], Awaitable[int]]:
    if options.ws is None:
        from agent_ls.server.transport.tcp import ListenError, listen

        if options.origin:
            raise ListenError("--origin needs --ws: web pages cannot connect over TCP")
        return partial(listen, where, token_file)
    from agent_ls.server.transport.websocket import AccessRules, listen_websocket, parse_origin

    return partial(listen_websocket, where, AccessRules(token_file, [*map(parse_origin, options.origin)]))
