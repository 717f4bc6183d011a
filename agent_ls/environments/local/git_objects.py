"""Run git for checks of agent-ls, so that nothing that the repository names is run or contacted.

To read objects, git gets a folder of its own in place of the repository's folder, and only the objects of the
repository. Other commands are confined to reading.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
from collections.abc import Sequence
from pathlib import Path
from threading import Thread

from agent_ls.confinement.wanted import Confinement
from agent_ls.program_lookup import require_program, safe_path

TIMEOUT_S = 20
_CONFINED_TIMEOUT_S = 5
_PLAIN = (
    "--no-pager", "-c", "core.fsmonitor=false", "-c", "core.hooksPath=/dev/null", "-c", "log.showSignature=false",
    "-c", "submodule.recurse=false",
)  # fmt: skip
_VARIABLES = {
    "GIT_OPTIONAL_LOCKS": "0",
    "GIT_NO_LAZY_FETCH": "1",
    "GIT_TERMINAL_PROMPT": "0",
    "GIT_ALLOW_PROTOCOL": "none",
    "LC_ALL": "C",
}
_CONFIG = "[core]\n\trepositoryformatversion = 1\n\tbare = true\n[extensions]\n\tobjectformat = {}\n"


class UncertainError(Exception):
    """It is not certain which files a command of git would show."""


def read_git_objects(program: str, objects: str, ids: Sequence[str]) -> Sequence[bytes]:
    """Return the contents of git objects; the result is shorter if one of them cannot be read. Blocks."""
    with tempfile.TemporaryDirectory(prefix="agent-ls-git-") as own:
        for name in ("refs", "objects"):
            os.mkdir(os.path.join(own, name))
        Path(own, "HEAD").write_text("ref: refs/heads/none\n", encoding="utf-8")
        Path(own, "config").write_text(
            _CONFIG.format("sha256" if len(ids[0]) == 64 else "sha1"), encoding="utf-8"
        )
        environ = {
            "GIT_DIR": own,
            "GIT_OBJECT_DIRECTORY": objects,
            "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": os.devnull,
            "GIT_NO_REPLACE_OBJECTS": "1",
            "PATH": os.path.dirname(program),
            "LC_ALL": "C",
        }
        if "SYSTEMROOT" in os.environ:
            environ["SYSTEMROOT"] = os.environ["SYSTEMROOT"]
        try:
            done = subprocess.run(
                [program, "cat-file", "--batch"],
                input="".join(f"{it}\n" for it in ids).encode(),
                capture_output=True,
                cwd=own,
                env=environ,
                timeout=TIMEOUT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired):
            return ()
    return _split_batch(done.stdout)


def _split_batch(output: bytes) -> Sequence[bytes]:
    found: list[bytes] = []
    at = 0
    while (end := output.find(b"\n", at)) > 0:
        words = output[at:end].split()
        has_content = len(words) == 3  # else: `ID missing`
        size = int(words[2]) if has_content else 0
        found.append(output[end + 1 : end + 1 + size] if words[1] == b"blob" else b"")
        at = end + 1 + (size + 1 if has_content else 0)
    return found


def run_confined(arguments: Sequence[str], folder: str) -> subprocess.CompletedProcess[bytes] | None:
    """Run git in a folder, confined to reading where this machine can confine; None if it cannot be run. Blocks."""
    done: list[subprocess.CompletedProcess[bytes]] = []

    def run() -> None:
        from agent_ls.confinement.confine import confine, unavailable

        environ = {name: value for name, value in os.environ.items() if not name.upper().startswith("GIT_")}
        try:
            if not unavailable():
                confine(Confinement(is_read_only=True))
            done.append(
                subprocess.run(
                    [require_program("git"), *_PLAIN, *arguments],
                    stdin=subprocess.DEVNULL,
                    capture_output=True,
                    cwd=folder,
                    env=environ | _VARIABLES | {"PATH": safe_path()},
                    timeout=_CONFINED_TIMEOUT_S,
                    check=False,
                )
            )
        except (OSError, ValueError, subprocess.TimeoutExpired):
            return

    thread = Thread(target=run)
    thread.start()  # the thread is confined for good, so it runs only this program
    thread.join()
    return done[0] if done else None
