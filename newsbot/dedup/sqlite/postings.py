"""Postings of many texts in one row: under which hash which text is noted.

A hash has 32 bits: the upper ones say in which of 65,536 buckets its postings lie, the lower ones (its *tag*)
stand there beside the number of the text, together six bytes. A bucket is all its numbers, the oldest text
first, then their tags in the same order: what is searched are the tags, a third of it.
"""

from __future__ import annotations

from collections.abc import Iterator

NUMBER = 4
"""Bytes of a text's number."""
TAG = 2
"""Bytes of a tag."""
POSTING = NUMBER + TAG
HASH = 4
"""Bytes of a hash."""
HASH_BITS = 8 * HASH
TAG_BITS = 8 * TAG
BUCKET_BITS = HASH_BITS - TAG_BITS
NO_TEXT = 1 << 8 * NUMBER
"""Higher than any number."""


def tag_of(hash_: int) -> bytes:
    """Return what stands for a hash in its bucket, ``hash_ >> TAG_BITS``."""
    return (hash_ & (1 << TAG_BITS) - 1).to_bytes(TAG)


def packed(numbers: list[int]) -> bytes:
    """Return numbers of texts, or hashes, in a row."""
    return b"".join([number.to_bytes(NUMBER) for number in numbers])


def unpacked(row: bytes) -> list[int]:
    """Return the numbers, or hashes, in a row of them."""
    return [int.from_bytes(row[at : at + NUMBER]) for at in range(0, len(row), NUMBER)]


def with_tag(bucket: bytes, tag: bytes) -> bytes:
    """Return the numbers that a bucket has under a tag, packed, oldest first."""
    end = len(bucket) // POSTING * NUMBER
    at = bucket.find(tag, end)
    if at < 0:  # as nearly always
        return b""
    return b"".join([bucket[place : place + NUMBER] for place in _places(bucket, tag, at)])


def _places(bucket: bytes, tag: bytes, at: int = 0) -> Iterator[int]:
    """Yield where the numbers with a tag begin; the tag is nowhere before ``at``."""
    end = len(bucket) // POSTING * NUMBER
    at = bucket.find(tag, max(at, end))
    while at >= 0:
        if (at - end) % TAG == 0:
            yield (at - end) // TAG * NUMBER
        at = bucket.find(tag, at + 1)


def join(bucket: bytes, numbers: bytes, tags: bytes) -> bytes:
    """Return a bucket with more postings, younger than all that are there."""
    middle = len(bucket) // POSTING * NUMBER
    return b"".join((bucket[:middle], numbers, bucket[middle:], tags))


def without_old(bucket: bytes, oldest: bytes) -> bytes:
    """Return a bucket without the texts below a packed number: they stand first."""
    end = len(bucket) // POSTING * NUMBER
    at = 0
    while at < end and bucket[at : at + NUMBER] < oldest:
        at += NUMBER
    return bucket[at:end] + bucket[end + at // NUMBER * TAG :]


def without(bucket: bytes, tag: bytes, gone: set[int]) -> bytes:
    """Return a bucket without the postings of some texts under a tag."""
    end = len(bucket) // POSTING * NUMBER
    numbers, tags = bytearray(bucket[:end]), bytearray(bucket[end:])
    for at in reversed(list(_places(bucket, tag))):
        if int.from_bytes(bucket[at : at + NUMBER]) in gone:
            del numbers[at : at + NUMBER]
            del tags[at // NUMBER * TAG : at // NUMBER * TAG + TAG]
    return bytes(numbers + tags)
