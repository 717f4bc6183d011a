"""Print the groups of `make test-all`, and what each needs: `python -m tests.tools.groups`."""

from __future__ import annotations

from tests.tiers import GROUPS

if __name__ == "__main__":
    for name, group in GROUPS.items():
        print(f"{name:12} {group.needs}")
