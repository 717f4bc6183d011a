"""What was computed of large values is not computed again, and never mistaken for that of another value."""

from __future__ import annotations

import hashlib
from operator import is_

import pytest

from agent_ls.environments.base import sha256
from agent_ls.recent import ENTRIES, Recent


class Counted:
    """A computation that knows how often it was done."""

    def __init__(self) -> None:
        self.times = 0

    def __call__(self, value: bytes) -> str:
        self.times += 1
        return value.decode()


def recent(*, most: int = 100) -> tuple[Counted, Recent[bytes, str]]:
    counted = Counted()
    return counted, Recent(counted, least=3, most=most)


def test_a_value_when_it_comes_again_as_a_copy_then_it_is_known() -> None:
    counted, of = recent()
    assert [of(b"abc"), of(bytes(bytearray(b"abc"))), of(b"abc")] == ["abc"] * 3
    assert counted.times == 1


def test_a_value_when_it_differs_in_one_place_then_it_is_computed() -> None:
    counted, of = recent()
    assert [of(b"abc"), of(b"abd"), of(b"abcd")] == ["abc", "abd", "abcd"]
    assert counted.times == 3


@pytest.mark.parametrize("value", [b"ab", b"a" * 101])
def test_a_value_when_it_is_too_short_or_too_long_then_it_is_not_kept(value: bytes) -> None:
    counted, of = recent()
    assert of(value) == of(value)
    assert counted.times == 2


def test_values_when_there_are_more_than_are_kept_then_the_oldest_are_computed_again() -> None:
    counted, of = recent()
    values = [b"abc%d" % number for number in range(ENTRIES + 1)]
    for value in values:
        of(value)
    of(values[-1])
    assert counted.times == ENTRIES + 1
    of(values[0])
    assert counted.times == ENTRIES + 2


def test_values_when_they_are_too_large_together_then_the_newest_is_kept() -> None:
    counted, of = recent(most=10)
    of(b"a" * 6), of(b"b" * 6), of(b"b" * 6)
    assert counted.times == 2
    of(b"a" * 6)
    assert counted.times == 3


def test_a_value_when_only_the_same_object_counts_then_a_copy_is_computed() -> None:
    counted = Counted()
    of = Recent(counted, least=3, most=100, alike=is_)
    value = b"abc"
    assert of(value) == of(value) == of(bytes(bytearray(value))) == "abc"
    assert counted.times == 2


def test_the_digest_of_a_large_content_when_it_was_asked_of_others_meanwhile_then_it_is_its_own() -> None:
    contents = [bytes([number]) * 20_000 for number in range(10)]
    for content in [*contents, *reversed(contents), *contents]:
        assert sha256(content) == hashlib.sha256(content).hexdigest()
