"""Nexmark's events, made from a seed: 1 person, 3 auctions and 46 bids of every 50, a millisecond apart.

The proportions and the hot sellers, auctions and bidders are those of its generator. Each event has a time of its
own, so that "the first of the highest bids" names one bid, and events are in the order of their times: none is late.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

# The time of the first event, in ms: 1 January 2026, 07:55 UTC, so that 300,000 events reach q14's day time.
BEGINNING = 1_767_254_100_000
SEED = 42
EVENTS_A_ROUND, PERSONS, AUCTIONS = 50, 1, 3
FIRST_PERSON = FIRST_AUCTION = 1000
FIRST_CATEGORY, CATEGORIES = 10, 5
# How many of the latest persons bid and sell, and for how many of the latest auctions bids are made.
ACTIVE_PERSONS, AUCTIONS_IN_FLIGHT = 1000, 100
# One event of so many has another id than the hot one.
HOT_AUCTION, HOT_BIDDER, HOT_SELLER, HOT_CHANNEL = 2, 4, 4, 2
# The hot auction and seller are the first, the hot bidder the second, of every hundred.
HOT_EVERY = 100
HOT_CHANNELS = ("Google", "Facebook", "Baidu", "Apple")
CHANNELS = 10_000
STATES = ("AZ", "CA", "ID", "OR", "WA", "WY")
CITIES = ("Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Cheyenne")
FIRST_NAMES = ("Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter")
LAST_NAMES = ("Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris")
LETTERS = "abcdefghijklmnopqrstuvwxyz"
# The rows that end a topic come so long after the last event, in ms: every window is over.
AFTER_ALL = 3_600_000
PERSON, AUCTION, BID = "person", "auction", "bid"
KINDS = (PERSON, AUCTION, BID)


@dataclass(frozen=True, slots=True)
class NexmarkEvent:
    """One event: its kind, the id that is the record's key, its time in ms, and its columns."""

    kind: str
    key: int
    at: int
    row: dict[str, Any]


def events(number: int, seed: int = SEED) -> Iterator[NexmarkEvent]:
    """The first `number` events, in the order of their times; the same ones for the same seed."""
    chance = random.Random(seed)
    for n in range(number):
        yield _event(chance, n, BEGINNING + n)


def last_rows(number: int, partitions: int) -> Iterator[tuple[int, NexmarkEvent]]:
    """A row for the end of each partition of each topic, whose time closes every window: the partition, the row."""
    at = BEGINNING + number + AFTER_ALL
    for partition in range(partitions):
        chance = random.Random(partition)
        yield partition, _person(chance, FIRST_PERSON + number + partition, at)
        yield partition, _auction(chance, FIRST_AUCTION + number + partition, FIRST_PERSON + number, at)
        yield partition, _bid(chance, FIRST_AUCTION + number + partition, FIRST_PERSON + number + partition, at)


def end(number: int) -> int:
    """A time, in ms, after all windows of `number` events and before those of the rows that close them."""
    return BEGINNING + number + AFTER_ALL // 2


def _event(chance: random.Random, n: int, at: int) -> NexmarkEvent:
    rounds, place = divmod(n, EVENTS_A_ROUND)
    last_person = FIRST_PERSON + rounds * PERSONS
    if place < PERSONS:
        return _person(chance, last_person, at)
    last_auction = FIRST_AUCTION + rounds * AUCTIONS + min(place - PERSONS, AUCTIONS - 1)
    if place < PERSONS + AUCTIONS:
        return _auction(chance, last_auction, _one_of(chance, HOT_SELLER, 0, last_person, FIRST_PERSON), at)
    auction = _one_of(chance, HOT_AUCTION, 0, last_auction, FIRST_AUCTION, AUCTIONS_IN_FLIGHT)
    return _bid(chance, auction, _one_of(chance, HOT_BIDDER, 1, last_person, FIRST_PERSON), at)


def _one_of(chance: random.Random, ratio: int, offset: int, last: int, first: int, latest: int = ACTIVE_PERSONS) -> int:
    """The hot id, or in one of `ratio` cases any of the `latest` ones."""
    if chance.randrange(ratio):
        return max(first, last // HOT_EVERY * HOT_EVERY + offset if last % HOT_EVERY >= offset else last)
    return chance.randint(max(first, last - latest), last)


def _person(chance: random.Random, number: int, at: int) -> NexmarkEvent:
    first, last = chance.choice(FIRST_NAMES), chance.choice(LAST_NAMES)
    row = {
        "id": number,
        "name": f"{first} {last}",
        "emailAddress": f"{_word(chance, 7)}@{_word(chance, 5)}.com",
        "creditCard": " ".join(f"{chance.randrange(10_000):04}" for _ in range(4)),
        "city": chance.choice(CITIES),
        "state": chance.choice(STATES),
        "dateTime": at,
        "extra": _word(chance, 80),
    }
    return NexmarkEvent(PERSON, number, at, row)


def _auction(chance: random.Random, number: int, seller: int, at: int) -> NexmarkEvent:
    first_bid = _price(chance)
    # Twice the time in which as many auctions begin as are in flight.
    longest = 2 * AUCTIONS_IN_FLIGHT * EVENTS_A_ROUND // AUCTIONS
    row = {
        "id": number,
        "itemName": _word(chance, 20),
        "description": _word(chance, 60),
        "initialBid": first_bid,
        "reserve": first_bid + _price(chance),
        "dateTime": at,
        "expires": at + chance.randint(1, longest),
        "seller": seller,
        "category": FIRST_CATEGORY + chance.randrange(CATEGORIES),
        "extra": _word(chance, 200),
    }
    return NexmarkEvent(AUCTION, number, at, row)


def _bid(chance: random.Random, auction: int, bidder: int, at: int) -> NexmarkEvent:
    if chance.randrange(HOT_CHANNEL):
        channel = chance.choice(HOT_CHANNELS)
        url = f"https://www.nexmark.com/{_word(chance, 5)}/{_word(chance, 5)}/item.htm?query=1"
    else:
        number = chance.randrange(CHANNELS)
        channel = f"channel-{number}"
        url = f"https://www.nexmark.com/{_word(chance, 5)}/{_word(chance, 5)}/item.htm?query=1&channel_id={number}"
    row = {
        "auction": auction,
        "bidder": bidder,
        "price": _price(chance),
        "channel": channel,
        "url": url,
        "dateTime": at,
        "extra": _word(chance, 60),
    }
    return NexmarkEvent(BID, auction, at, row)


def _price(chance: random.Random) -> int:
    """In cents, between a dollar and a million; as many between ten and a hundred as between a thousand and ten."""
    return round(10 ** (chance.random() * 6) * 100)


def _word(chance: random.Random, length: int) -> str:
    """Lower-case letters."""
    return "".join(chance.choices(LETTERS, k=length))
