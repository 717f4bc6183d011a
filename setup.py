"""Add the Neovim plugin and the pages of the documentation to the wheel; all else is in pyproject.toml."""

from __future__ import annotations

from pathlib import Path

from setuptools import setup
from setuptools.command.build_py import build_py

ADDED = {
    "editors/nvim/doc": "**/*",
    "editors/nvim/lua": "**/*",
    "editors/nvim/plugin": "**/*",
    "docs": "**/*.md",
}
"""Folders of the checkout, and which of their files are copied to the same folder below the package."""


class BuildWithAdded(build_py):
    """Copies these files into the package, where commands find them; editable installs use the checkout."""

    def run(self) -> None:
        super().run()
        if self.editable_mode:
            return
        for folder, pattern in ADDED.items():
            for file in sorted(path for path in Path(folder).glob(pattern) if path.is_file()):
                target = Path(self.build_lib, "agent_ls", file)
                target.parent.mkdir(parents=True, exist_ok=True)
                self.copy_file(str(file), str(target))


setup(cmdclass={"build_py": BuildWithAdded})
