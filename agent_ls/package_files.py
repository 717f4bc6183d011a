"""Read the data files of our packages, also from a zip file."""

from __future__ import annotations

import pkgutil


def read_package_file(package: str, name: str) -> str:
    """Return the text of the file `name` beside the modules of `package`.

    importlib.resources would do the same, but loads zipfile and tempfile at each start.

    Raises:
        OSError: there is no such file.
    """
    data = pkgutil.get_data(package, name)
    assert data is not None, f"the loader of {package} reads no files"
    return data.decode("utf-8")
