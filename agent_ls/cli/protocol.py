"""agent-ls protocol: what a client can be made from."""

from __future__ import annotations

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--schema", action="store_true", required=True, help="print the JSON Schema of all messages"
    )


def run(options: argparse.Namespace) -> int:
    from agent_ls.server.schema import protocol_schema

    print(json.dumps(protocol_schema(), indent=2))
    return 0
