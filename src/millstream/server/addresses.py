"""Addresses: which can be reached from this machine only."""

import ipaddress


def is_loopback(host: str) -> bool:
    """True if an address can be reached from this machine only."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
