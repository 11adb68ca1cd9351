"""Hypercorn's WebSockets without compression: clients have nothing to say but that they leave.

A message of 500 KB may be 500 MB of zeros when it is unpacked, and its size is looked at after that.
"""

import hypercorn.protocol.ws_stream
from wsproto.extensions import Extension


class NoExtension(Extension):
    """Stands where hypercorn puts permessage-deflate, and is never agreed on."""

    name = "none"

    def enabled(self) -> bool:
        """Whether both sides have agreed on it."""
        return False

    def offer(self) -> bool:
        """What a client would say."""
        return False

    def accept(self, offer: str) -> None:
        """What the server says to a client that offers it."""


def install() -> None:
    """Have hypercorn use it: there is no other door than the name under which it looks the class up."""
    hypercorn.protocol.ws_stream.PerMessageDeflate = NoExtension  # type: ignore[assignment,misc,attr-defined,unused-ignore]
