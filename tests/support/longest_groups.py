"""The groups of tests that take minutes, of `make test` (see conftest.py)."""

# The groups that take minutes begin first: what is left at the end keeps all processes busy.
LONGEST = (
    "server",
    "live",
    "compute",
    "begin test_live_exactly_once",
    "begin test_live_cluster",
    "crash test_live_cases",
    "crash test_chaos",
    "crash test_live_guides",
    "begin test_live_stops",
    "crash test_live_outage",
    "crash test_live_brokers",
)
