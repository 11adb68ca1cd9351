"""The functions of ksqlDB's own tests are the tester's, and no part of the product."""

from millstream.functions import FUNCTIONS
from millstream.functions.python import library
from millstream.tester.functions import OF_TESTS


def test_the_product_does_not_have_them() -> None:
    assert FUNCTIONS.keys() & OF_TESTS.keys() == set()
    assert library({}).lookup("TEST_UDF") is None


def test_a_catalog_that_has_them_calls_them() -> None:
    functions = library(OF_TESTS)
    assert {name for name in OF_TESTS if functions.lookup(name) is None} == set()
