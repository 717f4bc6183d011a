from __future__ import annotations

import pytest

from agent_ls.services.context.fuzzy import find_best_matches

PATHS = (
    "shop/cart.py",
    "shop/catalog.py",
    "shop/__init__.py",
    "shop/",
    "tests/test_cart.py",
    "tests/",
    "docs/old cartoon.md",
    "src/LiveSessionView.ts",
    "src/lsv/readme.txt",
    "scary/tree.txt",
)

CASES = [
    ("cart", ["shop/cart.py", "tests/test_cart.py", "docs/old cartoon.md"]),
    ("CART.PY", ["shop/cart.py", "tests/test_cart.py"]),
    ("shop", ["shop/", "shop/cart.py", "shop/catalog.py", "shop/__init__.py"]),
    ("shop/ca", ["shop/cart.py", "shop/catalog.py"]),
    ("old cart", ["docs/old cartoon.md"]),
    ("lsv", ["src/lsv/readme.txt", "src/LiveSessionView.ts"]),
    ("crtpy", ["shop/cart.py", "tests/test_cart.py"]),
    ("tcart", ["tests/test_cart.py"]),
    ("*", []),
    ("zzz", []),
]


@pytest.mark.req("H9")
@pytest.mark.parametrize(("query", "expected"), CASES)
def test_the_best_matching_paths_come_first(query: str, expected: list[str]) -> None:
    found = find_best_matches(query, PATHS, 20)
    assert found[: len(expected)] == expected
    assert bool(found) == bool(expected)


def test_among_equal_matches_open_files_come_first() -> None:
    assert find_best_matches(
        "test", ("a/test_a.py", "b/test_bbb.py", "latest.py"), 9, ["b/test_bbb.py", "latest.py"]
    ) == [
        "b/test_bbb.py",
        "a/test_a.py",
        "latest.py",
    ]


def test_an_empty_query_matches_everything_up_to_the_limit() -> None:
    assert find_best_matches("", PATHS, 2, ["tests/test_cart.py"]) == ["tests/test_cart.py", "shop/"]
    assert len(find_best_matches(" ", PATHS, 100)) == len(PATHS)


@pytest.mark.req("H9")
def test_paths_with_scattered_query_letters_are_listed_after_paths_with_contiguous_letters() -> None:
    apart = [f"c/a{number}/rt.py" for number in range(50)]
    assert find_best_matches("cart", [*apart, "long/path/to/the/cart.py"], 3) == [
        "long/path/to/the/cart.py",
        "c/a0/rt.py",
        "c/a1/rt.py",
    ]
