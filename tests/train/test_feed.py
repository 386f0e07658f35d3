import threading
from itertools import count, islice

import pytest

from tfmt.train.feed import DEPTH, ahead


def test_items_come_in_order_and_only_a_few_are_made_ahead():
    made = []

    def items():
        for number in count():
            made.append(number)
            yield number

    feed = ahead(items())
    assert list(islice(feed, 10)) == list(range(10))
    feed.close()
    assert 10 <= len(made) <= 10 + DEPTH
    assert not [thread for thread in threading.enumerate() if thread.name.startswith("feed")]


def test_what_making_an_item_raises_comes_in_its_place():
    def items():
        yield "good"
        raise LookupError("no more")

    feed = ahead(items())
    assert next(feed) == "good"
    with pytest.raises(LookupError, match="no more"):
        next(feed)
