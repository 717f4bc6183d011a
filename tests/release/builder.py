"""Load .ci/release.py as the module `release`, and build packages from the tracked files."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
import tarfile
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).resolve().parents[2]
EPOCH = 1_700_000_000


def load() -> ModuleType:
    spec = importlib.util.spec_from_file_location("agent_ls_release", ROOT / ".ci" / "release.py")
    assert spec and spec.loader
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


release = load()


def need_repository() -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("not a checkout: a release is built from one")


def staged(folder: Path, repository: str = "") -> Path:
    """Copy the tracked files to `folder` as for a release, with its version and file times. Returns the copy."""
    source = folder / "source"
    release.stage(source, release.current_version(), EPOCH, repository)
    return source


def build(source: Path, kind: str) -> Path:
    """Build a wheel or an sdist."""
    (package,) = _run_backend(source, f"build_{kind}", source.parent / kind).iterdir()
    if kind == "sdist":
        release.repack_tar(package, EPOCH)
    return package


def build_metadata(source: Path) -> bytes:
    """Return the metadata that a wheel of `source` gets, without building it."""
    folder = _run_backend(source, "prepare_metadata_for_build_wheel", source.parent / "metadata")
    (metadata,) = folder.glob("*.dist-info/METADATA")
    return metadata.read_bytes()


def _run_backend(source: Path, hook: str, out: Path) -> Path:
    """Call a hook of setuptools' build backend in a new process, with the new folder `out` for its output."""
    out.mkdir()
    script = f"from setuptools import build_meta; build_meta.{hook}({str(out)!r})"
    environ = {"SOURCE_DATE_EPOCH": str(EPOCH), "PATH": "/usr/bin:/bin", "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=source, env=environ, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr[-2000:]
    return out


def unpack(package: Path, folder: Path) -> Path:
    with tarfile.open(package) as tar:
        tar.extraction_filter = getattr(tarfile, "data_filter", None)  # Python 3.11.3 and older have none
        tar.extractall(folder)
    (root,) = folder.iterdir()
    return root
