"""The walkthrough's sample project, copied to where it may be changed."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from shutil import copytree, ignore_patterns


def copy_sample_project(target: Path) -> Path:
    """Copies the project to `target`, which must not exist yet, and returns it.

    Raises:
        FileExistsError: `target` is there already; nothing is overwritten.
    """
    with as_file(files("agent_ls.app").joinpath("sample_project")) as source:
        copytree(source, target, ignore=ignore_patterns("__pycache__"))
    return target
