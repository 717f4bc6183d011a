"""The recording of the VS Code extension: python -m tests.tools.recordings, which `make recordings` calls.

It plays the walkthrough in a real workbench and leaves a picture of each step in build/screenshots/recording.
`.ci/animate.py` makes docs/images/vscode-demo.webp of them.
"""

from __future__ import annotations

import sys
import tempfile
from pathlib import Path

from agent_ls.cli.sample import copy_sample_project
from tests.editors import vscode_rig as vscode


def main() -> int:
    if why := vscode.why_not():
        print(f"agent-ls: VS Code is not recorded: it {why}", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        shop = copy_sample_project(Path(folder) / "shop")
        server = [str(Path(sys.executable).parent / "agent-ls")]
        vscode.play(
            "recording.mjs",
            shop,
            machine={"agentLs.command": server, "editor.minimap.enabled": False},
            env={"AGENT_LS_STATE_DIR": f"{folder}/state"},
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
