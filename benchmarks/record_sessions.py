"""Record the everyday sessions that prompts.py replays: `python -m benchmarks.record_sessions [NAME]`.

Each folder of benchmarks/sessions/ is a small project with the scripted tool calls of a model (session.json).
`agent-ls exec --record` runs the script on a copy of the project; loop, tools and programs are real. In the recording,
paths of this machine are replaced by paths of an imaginary user Ada.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.processes import Model

SESSIONS = Path(__file__).with_name("sessions")
RECORDING = "recording.jsonl"
ADA = ("-c", "user.name=Ada", "-c", "user.email=ada@example.org")
KEPT = ("PATH", "CARGO_HOME", "RUSTUP_HOME", "LANG")


def record(folder: Path, model: Model) -> None:
    """Run the script in `folder` on a copy of the project, and write the recording to `folder`."""
    script = json.loads((folder / "session.json").read_text())
    with tempfile.TemporaryDirectory() as scratch:
        home = Path(scratch, "ada")
        project = home / folder.name
        shutil.copytree(folder, project, ignore=shutil.ignore_patterns("session.json", RECORDING))
        for words in (["init", "-q", "-b", "main"], ["add", "."], [*ADA, "commit", "-q", "-m", "As it is"]):
            subprocess.run(["git", *words], cwd=project, check=True)
        for key, value in (("user.name", "Ada"), ("user.email", "ada@example.org")):
            subprocess.run(["git", "config", key, value], cwd=project, check=True)
        calls = [{"tool": tool, "arguments": arguments} for tool, arguments in script["calls"]]
        model.play(*calls, {"text": "Done."})
        recorded = Path(scratch, RECORDING)
        asked = ["exec", "--provider", "anthropic", "--approve", "all", "--trust", "--record", str(recorded)]
        environ = {name: os.environ[name] for name in KEPT if name in os.environ} | {
            "HOME": str(home),
            "AGENT_LS_STATE_DIR": str(home / ".state"),
            "ANTHROPIC_BASE_URL": model.base_url,
            "ANTHROPIC_API_KEY": "sk-scripted-model",
            "PYTHONPATH": str(Path.cwd()),
        }
        done = subprocess.run(
            [sys.executable, "-m", "agent_ls", *asked, script["prompt"]],
            cwd=project,
            env=environ,
            check=False,
        )
        assert done.returncode in (0, 3), "3: what nobody may allow there was refused"
        (folder / RECORDING).write_text(_on_ada_s_machine(recorded.read_text(), home))


def _on_ada_s_machine(text: str, home: Path) -> str:
    text = text.replace(str(home), "/home/ada")
    return re.sub(r"/[\w./-]*/(?:lib/python3|\.rustup|\.cargo|site-packages)", "/usr/lib", text)


def main() -> None:
    wanted = sys.argv[1:]
    with Model() as model:
        for folder in sorted(path for path in SESSIONS.iterdir() if (path / "session.json").is_file()):
            if not wanted or folder.name in wanted:
                record(folder, model)


if __name__ == "__main__":
    main()
