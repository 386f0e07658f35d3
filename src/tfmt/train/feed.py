"""Updates made ready while the one before is at work: a GPU should never wait for the CPU to gather sentences."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")
DEPTH = 2  # updates


def ahead(items: Iterator[T]) -> Iterator[T]:
    """The same endless items in the same order, made by a thread; what making one raises is raised in its place."""
    with ThreadPoolExecutor(1, "feed") as pool:
        coming = deque(pool.submit(next, items) for _ in range(DEPTH))
        while True:
            coming.append(pool.submit(next, items))
            yield coming.popleft().result()
