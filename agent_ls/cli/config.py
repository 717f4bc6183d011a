"""agent-ls config: say where the user's settings are and whether they are valid, or print the settings schema."""

from __future__ import annotations

import argparse
import json

from agent_ls.cli.output import to_single_row


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--schema", action="store_true", help="print the JSON Schema of the settings, for programs"
    )


def run(options: argparse.Namespace) -> int:
    if options.schema:
        from agent_ls.services.settings.schema import settings_schema

        print(json.dumps(settings_schema(), indent=2))
        return 0

    from agent_ls.services.settings.layers import user_layer, user_settings_path
    from agent_ls.services.settings.state_folder import state_folder

    path = user_settings_path()
    settings, problems = user_layer()
    where = "no file: AGENT_LS_SETTINGS is empty" if path is None else str(path)
    missing = "" if path is None or path.exists() else " (not written yet)"
    print(to_single_row(f"settings  {where}{missing}"))
    if settings:  # the names only: values may be headers with keys
        print(to_single_row(f"          sets {', '.join(settings)}"))
    for problem in problems:
        print(to_single_row(f"        ! {problem}"))
    print(to_single_row(f"state     {state_folder()}"))
    print("Settings of your editor override this file. `agent-ls docs configuration` explains all settings.")
    return 1 if problems else 0
