"""The package millstream. `connect` and `connect_async` are those of millstream.client, imported at their first use."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from millstream.client import connect, connect_async

__all__ = ["connect", "connect_async"]


def __getattr__(name: str) -> Any:
    if name in __all__:
        return getattr(import_module("millstream.client"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def load_ipython_extension(shell: Any) -> None:
    """Register the magics `%ksql` and `%%ksql`; IPython calls this function for `%load_ext millstream`."""
    import_module("millstream.client.magic").register(shell)
