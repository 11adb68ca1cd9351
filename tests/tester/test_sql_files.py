"""ksqlDB's SQL test files: those in sql/ pass, and failures are reported with file, line, both sides and a hint."""

from collections.abc import Callable
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from millstream.model.settings import effective
from millstream.spark.bounded import Bounded
from millstream.tester.files import load, runner_case
from millstream.tester.runner import Verdict, run_cases

FOLDER = Path(__file__).parent / "sql"
FOO = "CREATE STREAM foo (id INT KEY, v INT) WITH (kafka_topic='foo', value_format='JSON');\n"
BAR = "CREATE STREAM bar AS SELECT id, v + 1 AS v FROM foo;\n"
REFUSED = "io.confluent.ksql.util.KsqlException"

Play = Callable[..., Verdict]


@pytest.fixture
def play(spark: SparkSession, tmp_path: Path) -> Play:
    """The verdict on one test with these statements, in the file case.sql behind the line of its name."""

    def play(statements: str, exact: bool = False) -> Verdict:
        path = tmp_path / "case.sql"
        path.write_text(f"--@test: it\n{statements}", encoding="utf-8")
        (verdict,) = run_cases(list(load([path])), Bounded(spark, compiled=False), effective({}, {}), exact=exact)
        return verdict

    return play


def test_files_in_ksqldb_s_form_pass(spark: SparkSession) -> None:
    cases = list(load([FOLDER]))
    assert len(cases) == 106
    verdicts = run_cases(cases, Bounded(spark, compiled=False), effective({}, {}), jobs=2)
    assert [f"{v.case.title}\n  {v.reason}" for v in verdicts if not v.passed] == []


def test_a_wrong_row_is_shown_beside_the_expected_one(play: Play, tmp_path: Path) -> None:
    rows = "INSERT INTO foo (id, v) VALUES (1, 1);\nASSERT VALUES bar (id, v)\n  VALUES (1, 5);"
    assert play(FOO + BAR + rows).reason == (
        f"{tmp_path}/case.sql:5:1: Expected record does not match actual."
        "\n              ID  V"
        "\n    expected  1   5"
        "\n    actual    1   2"
        "\n  hint: V differs: record 1 of topic BAR"
        "\n  in: ASSERT VALUES bar (id, v)\n  VALUES (1, 5);"
    )


def test_a_statement_that_a_server_refuses_for_its_size_fails(play: Play) -> None:
    hopping = "CREATE TABLE t AS SELECT id, COUNT(*) AS n FROM foo WINDOW HOPPING (SIZE 10 DAYS, ADVANCE BY 1 SECOND)"
    assert "a row has 864000 windows, and may have 10000" in play(f"{FOO}{hopping} GROUP BY id;").reason
    row = f"INSERT INTO foo (id, v) VALUES (1, CASE {'WHEN 1 = 1 THEN 1 ' * 501}END);"
    assert "CASE has 501 branches, and may have 500" in play(FOO + row).reason


def test_time_is_compared_where_it_is_named(play: Play) -> None:
    row = "INSERT INTO foo (rowtime, id, v) VALUES (7, 1, 1);"
    assert play(f"{FOO}{row}ASSERT VALUES foo (rowtime, id, v) VALUES (7, 1, 1);").passed
    assert "ROWTIME differs" in play(f"{FOO}{row}ASSERT VALUES foo (rowtime, id, v) VALUES (8, 1, 1);").reason


def test_a_column_that_is_not_named_must_be_null(play: Play) -> None:
    row = "INSERT INTO foo (id, v) VALUES (1, 1);"
    assert "V differs" in play(f"{FOO}{row}ASSERT VALUES foo (id) VALUES (1);").reason


def test_a_record_that_is_not_there(play: Play, tmp_path: Path) -> None:
    reason = play(
        f"{FOO}INSERT INTO foo (id, v) VALUES (1, 1);" + "ASSERT VALUES foo (id, v) VALUES (1, 1);" * 2
    ).reason
    assert reason.startswith(
        f"{tmp_path}/case.sql:3:79: Expected another record, but all records have already been read:"
    )
    assert "expected  1   1\n    actual    1   1" in reason
    assert "hint: topic foo has 1 record\n" in reason


def test_a_tombstone_is_no_row_of_nulls(play: Play) -> None:
    table = "CREATE TABLE t (id INT PRIMARY KEY, v INT) WITH (kafka_topic='t', value_format='JSON');"
    late = "CREATE TABLE large AS SELECT * FROM t WHERE v > 0;"
    rows = "INSERT INTO t (id, v) VALUES (1, 1); INSERT INTO t (id, v) VALUES (1, 0);"
    first = f"{table}{late}{rows}ASSERT VALUES large (id, v) VALUES (1, 1);"
    assert play(f"{first}ASSERT NULL VALUES large (id) KEY (1);").passed
    assert "actual    1   <null>" in play(f"{first}ASSERT VALUES large (id, v) VALUES (1, NULL);").reason
    row = play(f"{table}{late}{rows}ASSERT NULL VALUES large (id) KEY (1);").reason
    assert "expected  1   <null>\n    actual    1   1" in row
    assert "Unexpected value columns" in play(f"{first}ASSERT NULL VALUES large (id, v) KEY (1, 1);").reason


@pytest.mark.parametrize(
    ("assertion", "reason"),
    [
        ("ASSERT TABLE bar (id INT PRIMARY KEY, v INT);", "Expected type does not match actual for source BAR."),
        ("ASSERT STREAM bar (id INT, v INT);", "Expected schema does not match actual for source BAR."),
        ("ASSERT STREAM bar WITH (kafka_topic='b');", "Expected kafka topic does not match"),
        ("ASSERT STREAM bar WITH (key_format='AVRO');", "Expected key format does not match"),
        ("ASSERT STREAM bar WITH (format='JSON');", "Expected key format does not match"),
        ("ASSERT STREAM bar WITH (value_format='avro');", "Expected value format does not match"),
        ("ASSERT STREAM bar WITH (value_delimiter='|');", "Expected delimiter does not match"),
        ("ASSERT STREAM bar WITH (wrap_single_value=false);", "Expected serde options does not match"),
        ("ASSERT STREAM bar WITH (timestamp='v');", "Expected timestamp column does not match"),
        ("ASSERT STREAM baz (id INT KEY);", "BAZ does not exist.\n  hint: did you mean BAR?"),
    ],
)
def test_a_source_that_is_another(play: Play, tmp_path: Path, assertion: str, reason: str) -> None:
    assert reason in (verdict := play(FOO + BAR + assertion).reason)
    assert verdict.startswith(f"{tmp_path}/case.sql:4:")


def test_a_source_with_another_time(play: Play) -> None:
    with_time = "WITH (kafka_topic='s', value_format='JSON', timestamp='t', timestamp_format='yyyy')"
    stream = f"CREATE STREAM s (id INT KEY, t STRING) {with_time};"
    assert play(f"{stream}ASSERT STREAM s {with_time};").passed
    reason = play(f"{stream}ASSERT STREAM s WITH (timestamp='t', timestamp_format='mm');").reason
    assert "Expected timestamp format does not match actual for source S." in reason
    assert "expected  mm\n    actual    yyyy" in reason


def test_an_expected_error_that_is_not_raised(play: Play, tmp_path: Path) -> None:
    assert play(f"--@expected.error: {REFUSED}\n{FOO}").reason == (
        f"{tmp_path}/case.sql:1: no statement failed\n  expected  {REFUSED}"
    )


def test_another_error_than_the_expected_one(play: Play) -> None:
    missing = "CREATE STREAM bar AS SELECT * FROM nowhere;"
    assert play(f"--@expected.message: NOWHERE does not exist\n{missing}").passed
    assert "NOWHERE does not exist" in play(f"--@expected.message: WINDOWEND cannot be reached\n{missing}").reason
    assert not play(f"--@expected.error: java.lang.AssertionError\n{missing}").passed
    wrong = "INSERT INTO foo (id, v) VALUES (1, 1); ASSERT VALUES foo (id, v) VALUES (2, 2);"
    assert not play(f"--@expected.error: {REFUSED}\n{FOO}{wrong}").passed
    assert not play(f"--@expected.message: Expected another record\n{FOO}{wrong}").passed


def test_another_wording_of_an_error_is_remarked_and_can_be_forbidden(play: Play) -> None:
    test = "--@expected.message: The source NOWHERE is unknown\nCREATE STREAM bar AS SELECT * FROM nowhere;"
    assert "refused in other words" in play(test).remark
    assert "NOWHERE does not exist" in play(test, exact=True).reason


def test_a_statement_that_is_wrong_is_placed_in_the_file(play: Play, tmp_path: Path) -> None:
    assert play(f"{FOO}\nCREATE STREAM bar AS\n  SELECT nothing FROM foo;").reason.startswith(
        f"{tmp_path}/case.sql:5:10: "
    )


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("CREATE STREAM s;", "case.sql:1: the file has no test\n  hint: a test begins with a line --@test: its name"),
        ("SET 'a'='b';\n--@test: x\n", "case.sql:1: there are statements before the first test"),
        (
            "--@test: x\n--@expected.eror: y\n",
            "case.sql:2: there is no directive --@expected.eror\n  hint: did you mean",
        ),
        ("--@test:\n", "case.sql:1: --@test has no value"),
        (
            "--@test: x\n--@expected.error: a\n--@expected.error: b\nSET 'a'='b';",
            "case.sql:3: --@expected.error is given",
        ),
    ],
)
def test_a_file_that_is_not_valid(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "case.sql"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"case\.sql") as failure:
        list(load([path]))
    assert message in str(failure.value)


def test_of_a_folder_files_without_tests_are_left_out(tmp_path: Path) -> None:
    (tmp_path / "script.sql").write_text(FOO, encoding="utf-8")
    assert list(load([tmp_path])) == []


def test_the_three_files_of_the_test_runner(spark: SparkSession, tmp_path: Path) -> None:
    statements, inputs, outputs = (tmp_path / name for name in ("s.sql", "i.json", "o.json"))
    statements.write_text(FOO + BAR, encoding="utf-8")
    inputs.write_text('{"inputs": [{"topic": "foo", "timestamp": 3, "key": 1, "value": {"V": 1}}]}', encoding="utf-8")
    record = '{"outputs": [{"topic": "BAR", "timestamp": 3, "key": 1, "value": {"V": %d}}]}'

    def reason(number: int) -> str:
        outputs.write_text(record % number, encoding="utf-8")
        case = runner_case(statements, inputs, outputs)
        (verdict,) = run_cases([case], Bounded(spark, compiled=False), effective({}, {}))
        return verdict.reason

    assert reason(2) == ""
    assert reason(3) == 'BAR record 0\n  expected 1: {"V":3} @3\n  actual   1: {"V":2} @3'


@pytest.mark.parametrize("text", ["{}", "[]", '{"outputs": []}', '{"outputs": [{"value": 1}]}', "no JSON"])
def test_outputs_that_are_none_of_the_test_runner_s(tmp_path: Path, text: str) -> None:
    statements, outputs = tmp_path / "s.sql", tmp_path / "o.json"
    statements.write_text(FOO, encoding="utf-8")
    outputs.write_text(text, encoding="utf-8")
    with pytest.raises(ValueError, match=r"o\.json"):
        runner_case(statements, None, outputs)
