"""What runs alongside the engine: downloaded jar files, and the broker and registry processes that use them."""

from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def shipped(name: str) -> Path:
    """The path of `jars.lock` or `jvm`, which are part of millstream: in the wheel, or else in the checkout.

    Raises FileNotFoundError if neither contains it.
    """
    for home in (PACKAGE / "_shipped", PACKAGE.parents[1]):
        if (home / name).exists():
            return home / name
    raise FileNotFoundError(f"{name} was not shipped with this millstream installation ({PACKAGE})")
