"""What runs beside the engine: jar files, and the broker and registry processes made of them."""

from pathlib import Path

PACKAGE = Path(__file__).parents[1]


def shipped(name: str) -> Path:
    """The path of `jars.lock` or `jvm`, which are shipped with millstream: in the wheel, else the checkout.

    Raises FileNotFoundError when neither has it.
    """
    for home in (PACKAGE / "_shipped", PACKAGE.parents[1]):
        if (home / name).exists():
            return home / name
    raise FileNotFoundError(f"{name} was not shipped with this millstream installation ({PACKAGE})")
