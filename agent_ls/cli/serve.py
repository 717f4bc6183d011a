"""agent-ls serve: arguments only."""

from __future__ import annotations

import argparse
import sys


def add_arguments(parser: argparse.ArgumentParser) -> None:
    ways = parser.add_mutually_exclusive_group()
    ways.add_argument("--stdio", action="store_true", help="over stdin and stdout; the default")
    ways.add_argument("--tcp", metavar="PORT", help="for editors that connect to this port of this machine")
    parser.add_argument(
        "--token-file",
        default="",
        metavar="FILE",
        help="a client must know what is in it; made when not there",
    )


def run(options: argparse.Namespace) -> int:
    if options.tcp is not None:
        return _listen(options.tcp, options.token_file)
    from agent_ls.server.start import main

    return main(options.token_file)


def _listen(address: str, token_file: str) -> int:
    from functools import partial
    from pathlib import Path

    import anyio

    from agent_ls.server.listen import ListenError, listen, parse_address, read_token

    try:
        if not token_file:
            raise ListenError("name a file for the token: --token-file FILE; it is made when it is not there")
        path = Path(token_file).absolute()
        where = parse_address(address)
        read_token(path)
        return anyio.run(partial(listen, where, path))
    except ListenError as error:
        print(f"agent-ls: {error}", file=sys.stderr)
    except OSError as error:
        print(f"agent-ls: {address} cannot be listened on: {error.strerror or error}", file=sys.stderr)
    return 1
