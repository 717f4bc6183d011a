"""The zip for the remote end: `LocalEnvironment` and the libraries that it needs, without compiled parts."""

from __future__ import annotations

import hashlib
import importlib.util
import io
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

_OWN = (
    "argument_types.py", "legacy_encodings.py", "long_texts.py", "memo.py", "method_forms.py", "paths.py",
    "patterns.py", "program_lookup.py", "system.py",
    "text.py", "_version.py",
    "environments/__init__.py", "environments/base.py", "environments/errors.py", "environments/opened.py",
    "environments/ignore_rules.py", "environments/instruction_files.py",
    "environments/instruction_names.py",
    "environments/globs.py", "environments/search.py", "environments/timed_search.py", "environments/terminal_host.py",
    "environments/sandbox.py", "environments/worker.py",
    "environments/remote", "environments/local", "confinement", "relay",
)  # fmt: skip
"""Files and folders of the package agent_ls that the zip contains."""

_LIBRARIES = ("anyio", "idna", "pathspec", "sniffio", "typing_extensions")
"""Pure Python libraries.

A library that is not installed on this machine is left out of the zip, because the other libraries then do
not need it.
"""

_DATE = (2020, 1, 1, 0, 0, 0)  # a fixed date, so that the same content gives the same digest


@dataclass(frozen=True, slots=True)
class Bundle:
    data: bytes
    sha: str


@lru_cache(maxsize=1)
def make_bundle() -> Bundle:
    """Make the zip. Blocks for some 100 ms at the first call; later calls return the same zip."""
    package = Path(__file__).resolve().parents[2]
    made = io.BytesIO()
    with ZipFile(made, "w", ZIP_DEFLATED) as archive:
        _add(archive, "agent_ls/__init__.py", b"")
        for name in _OWN:
            for path in _python_files(package / name):
                _add(archive, f"agent_ls/{path.relative_to(package).as_posix()}", path.read_bytes())
        for name in _LIBRARIES:
            for top, path in _library(name):
                _add(archive, path.relative_to(top).as_posix(), path.read_bytes())
    data = made.getvalue()
    return Bundle(data, hashlib.sha256(data).hexdigest())


def _add(archive: ZipFile, name: str, content: bytes) -> None:
    info = ZipInfo(name, _DATE)
    info.compress_type = ZIP_DEFLATED
    archive.writestr(info, content)


def _library(name: str) -> Iterator[tuple[Path, Path]]:
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        return
    place = Path(spec.origin)
    top = place.parent.parent if place.name == "__init__.py" else place.parent
    for path in _python_files(place.parent if place.name == "__init__.py" else place):
        yield top, path


def _python_files(place: Path) -> Iterator[Path]:
    if place.is_file():
        yield place
        return
    for folder, names, files in os.walk(place):
        names[:] = sorted(name for name in names if name not in ("__pycache__", "_pytest", "tests"))
        yield from (Path(folder, name) for name in sorted(files) if name.endswith(".py"))
