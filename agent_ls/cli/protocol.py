"""agent-ls protocol: print the protocol schema, for authors of clients."""

from __future__ import annotations

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--schema", action="store_true", required=True, help="print the JSON Schema of all messages"
    )


def run(options: argparse.Namespace) -> int:
    from agent_ls.acp.extension_types import extension_schema
    from agent_ls.server.schema.messages import protocol_schema

    print(json.dumps({**protocol_schema(), "acp": extension_schema()}, indent=2))
    return 0
