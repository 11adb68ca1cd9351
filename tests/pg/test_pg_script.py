"""Where statements begin and end in a client's text."""

from millstream.pg.script import statements


def test_a_statement_behind_very_many_comments() -> None:
    """Each was taken off by a copy of all that followed: a text of the permitted length held up every client."""
    comments = "--\n" * 300_000
    (statement,) = statements(f"{comments}SELECT 1;")
    assert (statement.text, statement.at) == ("SELECT 1", len(comments))
