"""Memoised results of large values are not computed again, and never returned for another value."""

from __future__ import annotations

import hashlib
from operator import is_

import pytest

from agent_ls.environments.base import sha256
from agent_ls.memo import MAX_ENTRIES, Memo


class Counted:
    """A computation that counts its runs."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, value: bytes) -> str:
        self.times += 1
        return value.decode()


def recent(*, most: int = 100) -> tuple[Counted, Memo[bytes, str]]:
    counted = Counted()
    return counted, Memo(counted, least=3, most=most)


def test_the_memo_returns_the_stored_result_for_an_equal_copy() -> None:
    counted, of = recent()
    assert [of(b"abc"), of(bytes(bytearray(b"abc"))), of(b"abc")] == ["abc"] * 3
    assert counted.times == 1


@pytest.mark.req("L5")
def test_the_memo_does_not_compare_a_copy_again_that_matched_before() -> None:
    compared: list[bytes] = []

    def is_alike(one: bytes, other: bytes) -> bool:
        compared.append(other)
        return one == other

    counted = Counted()
    of = Memo(counted, least=3, most=100, alike=is_alike)
    copy = bytes(bytearray(b"abc"))
    assert [of(b"abc"), of(copy), of(copy), of(copy)] == ["abc"] * 4
    assert compared == [copy]
    assert counted.times == 1


def test_the_memo_computes_a_value_that_differs_from_a_stored_value_in_one_byte() -> None:
    counted, of = recent()
    assert [of(b"abc"), of(b"abd"), of(b"abcd")] == ["abc", "abd", "abcd"]
    assert counted.times == 3


@pytest.mark.parametrize("value", [b"ab", b"a" * 101])
def test_a_value_outside_the_size_limits_is_not_stored(value: bytes) -> None:
    counted, of = recent()
    assert of(value) == of(value)
    assert counted.times == 2


def test_beyond_the_maximum_number_the_oldest_values_are_computed_again() -> None:
    counted, of = recent()
    values = [b"abc%d" % number for number in range(MAX_ENTRIES + 1)]
    for value in values:
        of(value)
    of(values[-1])
    assert counted.times == MAX_ENTRIES + 1
    of(values[0])
    assert counted.times == MAX_ENTRIES + 2


def test_above_the_maximum_total_size_the_memo_keeps_the_newest_result() -> None:
    counted, of = recent(most=10)
    of(b"a" * 6), of(b"b" * 6), of(b"b" * 6)
    assert counted.times == 2
    of(b"a" * 6)
    assert counted.times == 3


def test_with_identity_comparison_the_memo_computes_an_equal_copy_again() -> None:
    counted = Counted()
    of = Memo(counted, least=3, most=100, alike=is_)
    value = b"abc"
    assert of(value) == of(value) == of(bytes(bytearray(value))) == "abc"
    assert counted.times == 2


def test_memoised_digests_of_large_contents_are_not_mixed_up() -> None:
    contents = [bytes([number]) * 20_000 for number in range(10)]
    for content in [*contents, *reversed(contents), *contents]:
        assert sha256(content) == hashlib.sha256(content).hexdigest()


def test_a_stored_result_is_returned_without_computing_it() -> None:
    computed: list[str] = []

    def compute(value: str) -> str:
        computed.append(value)
        return value.upper()

    memo = Memo(compute, least=3, most=100)
    memo.store("long", "LONG")
    memo.store("x", "X")
    assert (memo("long"), memo("x")) == ("LONG", "X")
    assert computed == ["x"], "an input that is too short is not stored"
