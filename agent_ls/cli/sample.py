"""Copy the sample project of the walkthrough to a folder in which the user may change it."""

from __future__ import annotations

from importlib.resources import as_file, files
from pathlib import Path
from shutil import copytree, ignore_patterns


def copy_sample_project(target: Path) -> Path:
    """Copy the sample project to `target`, and return `target`.

    Raises:
        FileExistsError: `target` exists already; nothing is overwritten.
    """
    with as_file(files("agent_ls.cli").joinpath("sample_project")) as source:
        copytree(source, target, ignore=ignore_patterns("__pycache__"))
    return target
