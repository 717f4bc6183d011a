"""Write the programs of a documentation page to files, and run the tests among them with pytest."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from tests.docs.pages import ROOT, blocks, read

DEADLINE_S = 240
LIBRARY_PAGES = ("docs/library.md", "docs/library-control.md", "docs/library-own-parts.md")


def library_text() -> str:
    """Return the text of the pages about the library."""
    return "\n".join(map(read, LIBRARY_PAGES))


def write_programs(place: str, folder: Path) -> dict[str, Path]:
    """Write the Python blocks of a page that have a file name to `folder`. Return the paths by file name."""
    written = {}
    for block in blocks(read(place), "python"):
        if block.tag:
            written[block.tag] = folder / block.tag
            # With blank lines in front, line numbers in tracebacks are those of the page.
            written[block.tag].write_text("\n" * (block.line - 1) + block.text, encoding="utf-8")
    return written


def run_tests(
    *arguments: str | Path, folder: Path, variables: Mapping[str, str] | None = None
) -> subprocess.CompletedProcess[str]:
    """Run pytest in a new process with this repository's configuration. Tests can import modules from `folder`."""
    environ = {**os.environ, "PYTHONPATH": os.pathsep.join((str(folder), str(ROOT))), **(variables or {})}
    plugins = ("-p", "tests.conftest") if any(isinstance(item, Path) for item in arguments) else ()
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "pytest",
            "-q",
            "-c",
            str(ROOT / "pyproject.toml"),
            *plugins,
            *map(str, arguments),
        ],
        cwd=ROOT,
        env=environ,
        capture_output=True,
        text=True,
        timeout=DEADLINE_S,
        check=False,
    )
