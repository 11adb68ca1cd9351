"""Hypercorn's WebSockets without compression: clients send nothing but the close.

A compressed message of 500 KB may unpack to 500 MB of zeros, and its size is only checked afterwards.
"""

import hypercorn.protocol.ws_stream
from wsproto.extensions import Extension


class NoExtension(Extension):
    """Replaces hypercorn's permessage-deflate, and is never agreed on."""

    name = "none"

    def enabled(self) -> bool:
        """False: it is never agreed on."""
        return False

    def offer(self) -> bool:
        """The offer of a client."""
        return False

    def accept(self, offer: str) -> None:
        """The server's answer to a client that offers it."""


def install() -> None:
    """Make hypercorn use this class, by replacing the name under which it looks it up: there is no other way."""
    hypercorn.protocol.ws_stream.PerMessageDeflate = NoExtension  # type: ignore[assignment,misc,attr-defined,unused-ignore]
