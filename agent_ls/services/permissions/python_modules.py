"""Find files of the working directory that python would run in place of its own modules."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

_ENDINGS = (".py", ".pyc", ".so", ".pyd")
_OF_PIP = frozenset(
    "pip attr cPickle org socks urllib3_secure_extra _manylinux keyring brotli brotlicffi truststore zstandard chardet"
    " simplejson".split()
)
"""Modules outside of the standard library that pip imports, or uses if they are there."""
_OF_OTHER_PYTHONS = frozenset(
    "annotationlib compression _colorize _pyrepl _py_warnings _opcode_metadata _pylong _ast_unparse _bootlocale"
    " _missing_stdlib_info _android_support _apple_support _ios_support asynchat asyncore binhex distutils formatter"
    " imp macpath parser smtpd symbol dummy_threading ConfigParser Queue StringIO UserDict __builtin__ cStringIO"
    " commands copy_reg exceptions sets thread urlparse".split()
)
"""Modules of other versions of python. The version that runs agent-ls may not have them."""
_OF_OTHERS = frozenset(("yaml", "_yaml"))
"""Modules of other projects that code may use unasked (python_code.toml)."""
_WITHOUT_INIT = frozenset(("org/python", "pip/__main__.py"))
"""Parts of modules that may be missing, so that a folder without `__init__.py` replaces them too."""
MAX_ENTRIES = 20_000


def replaced_module(folder: str) -> str:
    """Return why `python -m` may run a file of the folder in place of a module of python; "" if not. Blocks."""
    try:
        path = next(find_replacing(folder), "")
    except OSError:
        return f"agent-ls cannot read {folder}, so python may run a file of it."
    return f"{path} may run in place of a module of python." if path else ""


def find_replacing(folder: str) -> Iterator[str]:
    """Yield the files of the folder that python would run in place of its own modules. Blocks.

    Most folders replace a module only if they have `__init__.py`. If there are too many files, the folder itself is
    yielded.

    Raises:
        OSError
    """
    for seen, name in enumerate(sorted(os.listdir(folder))):
        if seen > MAX_ENTRIES:
            yield folder
            return
        known = sys.stdlib_module_names | _OF_PIP | _OF_OTHER_PYTHONS | _OF_OTHERS
        if name.partition(".")[0] not in known and not name.startswith("_sysconfigdata_"):
            continue
        path = os.path.join(folder, name)
        if not os.path.isdir(path):
            if name.endswith(_ENDINGS):
                yield path
            continue
        yield from (
            os.path.join(path, it)
            for it in os.listdir(path)
            if it.startswith("__init__.") or f"{name}/{it}" in _WITHOUT_INIT
        )
