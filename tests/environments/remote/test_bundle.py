"""The remote end starts from the zip that is sent to another machine, and from nothing else."""

from __future__ import annotations

import ast
import io
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZipFile

import pytest

from agent_ls.environments.remote.bundle import make_bundle

END = "agent_ls.environments.remote.end"


@pytest.mark.req("X3")
def test_the_remote_end_starts_from_the_bundle_alone(tmp_path: Path) -> None:
    bundle = tmp_path / "bundle.zip"
    bundle.write_bytes(make_bundle().data)
    code = f"import sys; sys.path[:0] = [sys.argv[1]]; import {END} as it; print(it.__file__)"
    done = subprocess.run(
        [sys.executable, "-I", "-S", "-c", code, str(bundle)], capture_output=True, text=True, check=False
    )
    assert done.stdout.startswith(str(bundle)), done.stderr


def _own_imports(source: bytes) -> Iterator[str]:
    """Return the modules of agent_ls that a module imports, also inside of its functions."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (name.name for name in node.names if name.name.startswith("agent_ls."))
        elif isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "agent_ls":
            yield from (f"{node.module}.{name.name}" for name in node.names)


@pytest.mark.req("X3")
def test_the_bundle_has_each_module_that_the_remote_end_may_import_later() -> None:
    archive = ZipFile(io.BytesIO(make_bundle().data))
    files = {name.removesuffix(".py").replace("/", "."): name for name in archive.namelist()}
    missing, seen, wanted = [], set[str](), [END]
    while wanted:
        name = wanted.pop()
        parent, _, last = name.rpartition(".")
        package = [] if last.islower() else [f"{parent}.__init__"]  # a class, not a module
        found = next((it for it in (name, f"{name}.__init__", parent, *package) if it in files), None)
        if found is None:
            missing.append(name)
        elif found not in seen:
            seen.add(found)
            wanted += _own_imports(archive.read(files[found]))
    assert len(seen) > 30 and not missing
