"""agent-ls config: print the settings schema, for editors."""

from __future__ import annotations

import argparse
import json


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--schema", action="store_true", required=True, help="print the JSON Schema of the settings"
    )


def run(options: argparse.Namespace) -> int:
    from agent_ls.services.settings.schema import settings_schema

    print(json.dumps(settings_schema(), indent=2))
    return 0
