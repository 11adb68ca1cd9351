I + B
-- → StatementError: line 1:1: Error processing expression: (I + B). Unsupported arithmetic types. INTEGER BOOLEAN

I / L * M
-- → DECIMAL(26, 2)

D + M
-- → DOUBLE

M * M
-- → DECIMAL(13, 4)

M / L
-- → DECIMAL(26, 22)

-M % 3
-- → DECIMAL(6, 2)

S + 'x'
-- → STRING

S || B
-- → StatementError: line 1:1: Function 'CONCAT' does not accept parameters (STRING, BOOLEAN).
-- →   hint: valid calls are CONCAT(first STRING, rest STRING...); CONCAT(first BYTES, rest BYTES...)

S || NULL || 1.5
-- → StatementError: line 1:1: Function 'CONCAT' does not accept parameters (STRING, null, DECIMAL(2, 1)).
-- →   hint: valid calls are CONCAT(first STRING, rest STRING...); CONCAT(first BYTES, rest BYTES...)

T + 1
-- → StatementError: line 1:1: Error processing expression: (T + 1). Unsupported arithmetic types. BOOLEAN INTEGER

I + NULL
-- → StatementError: line 1:1: Error processing expression: (I + NULL). Arithmetic on types INTEGER and null are not supported.
-- →   hint: the result would be NULL for every record

S * 2
-- → StatementError: line 1:1: Error processing expression: (S * 2). Unsupported arithmetic types. STRING INTEGER
-- →   hint: CAST one to the other's type

I + S
-- → StatementError: line 1:1: Error processing expression: (I + S). Unsupported arithmetic types. INTEGER STRING
-- →   hint: CAST the other to STRING, or use CONCAT

-S
-- → StatementError: line 1:1: - does not apply to S (STRING)

-NULL
-- → StatementError: line 1:1: - does not apply to NULL

I = L
-- → BOOLEAN

I = '7'
-- → StatementError: line 1:1: Cannot compare I (INTEGER) to '7' (STRING) with EQUAL.
-- →   hint: CAST one to the other's type

I >= 'not an int'
-- → StatementError: line 1:1: Cannot compare I (INTEGER) to 'not an int' (STRING) with GREATER_THAN_OR_EQUAL.
-- →   hint: CAST one to the other's type

S > NULL
-- → StatementError: line 1:1: Comparison with NULL not supported: STRING > NULL
-- →   hint: Use 'IS NULL' or 'IS NOT NULL' instead.

NULL <> NULL
-- → StatementError: line 1:1: Comparison with NULL not supported: NULL <> NULL
-- →   hint: Use 'IS NULL' or 'IS NOT NULL' instead.

I IS DISTINCT FROM NULL
-- → StatementError: line 1:1: Comparison with NULL not supported: INTEGER IS DISTINCT FROM NULL
-- →   hint: Use 'IS NULL' or 'IS NOT NULL' instead.

T < TRUE
-- → StatementError: line 1:1: Cannot compare T (BOOLEAN) to TRUE (BOOLEAN) with LESS_THAN.
-- →   hint: such values can only be compared by = and <>

A < A
-- → StatementError: line 1:1: Cannot compare A (ARRAY<INTEGER>) to A (ARRAY<INTEGER>) with LESS_THAN.
-- →   hint: such values can only be compared by = and <>

A = MP
-- → StatementError: line 1:1: Cannot compare A (ARRAY<INTEGER>) to MP (MAP<STRING, BIGINT>) with EQUAL.

ST = STRUCT(ID := 1)
-- → BOOLEAN

BIN = BIN
-- → BOOLEAN

BIN = S
-- → StatementError: line 1:1: Cannot compare BIN (BYTES) to S (STRING) with EQUAL.
-- →   hint: CAST one to the other's type

DAY = '2020-01-01'
-- → BOOLEAN

DAY = '2020-13-01'
-- → StatementError: line 1:7: invalid input syntax for type DATE: "2020-13-01".
-- →   hint: a date reads 2024-02-29

DAY < TS
-- → BOOLEAN

CLOCK < DAY
-- → StatementError: line 1:1: Cannot compare CLOCK (TIME) to DAY (DATE) with LESS_THAN.

CLOCK > '25:00'
-- → StatementError: line 1:9: invalid input syntax for type TIME: "25:00".
-- →   hint: a time reads 23:59:59.999

ROWTIME > '2020'
-- → BOOLEAN

ROWTIME > 'yesterday'
-- → StatementError: line 1:11: invalid input syntax for type TIMESTAMP: "yesterday".
-- →   hint: a timestamp reads 2024-02-29T23:59:59.999, and may end in a zone such as +0200

I > '2020'
-- → StatementError: line 1:1: Cannot compare I (INTEGER) to '2020' (STRING) with GREATER_THAN.
-- →   hint: CAST one to the other's type

I IN (1, '2', 3.5)
-- → BOOLEAN

I IN (10, '10 - not a number')
-- → StatementError: line 1:11: Invalid Predicate: invalid input syntax for type INTEGER: "10 - not a number".

I IN (10, TRUE)
-- → StatementError: line 1:11: Invalid Predicate: operator does not exist: INTEGER = BOOLEAN (TRUE)

T IN (TRUE, 'Not a boolean')
-- → StatementError: line 1:13: Invalid Predicate: invalid input syntax for type BOOLEAN: "Not a boolean".
-- →   hint: true, false, yes, no and their beginnings are booleans

T IN (TRUE, 10)
-- → StatementError: line 1:13: Invalid Predicate: operator does not exist: BOOLEAN = INTEGER (10)

T IN (TRUE, S)
-- → StatementError: line 1:13: Invalid Predicate: operator does not exist: BOOLEAN = STRING (S)
-- →   hint: CAST one to the other's type

M IN (10, S)
-- → StatementError: line 1:11: Invalid Predicate: operator does not exist: DECIMAL(12, 2) = STRING (S)
-- →   hint: CAST one to the other's type

S IN (10, TRUE, 1.50)
-- → BOOLEAN

S IN (10, D)
-- → StatementError: line 1:11: Invalid Predicate: operator does not exist: STRING = DOUBLE (D)
-- →   hint: CAST one to the other's type

A IN (A, ARRAY[T])
-- → StatementError: line 1:10: Invalid Predicate: operator does not exist: INTEGER = BOOLEAN

MP IN (MAP('10' := 'not 10'))
-- → StatementError: line 1:8: Invalid Predicate: invalid input syntax for type BIGINT: "not 10".

MP IN (10)
-- → StatementError: line 1:8: Invalid Predicate: operator does not exist: MAP<STRING, BIGINT> = INTEGER (10)

ST IN (STRUCT(ID := '1', MORE := 2))
-- → BOOLEAN

ST IN (STRUCT(ID := 'not 1'))
-- → StatementError: line 1:8: Invalid Predicate: invalid input syntax for type INTEGER: "not 1".

NULL IN (1)
-- → StatementError: line 1:1: NULL IN (…) is always NULL
-- →   hint: IS NULL is true for NULL

I IN (NULL)
-- → BOOLEAN

I BETWEEN 1 AND L
-- → BOOLEAN

I BETWEEN 'a' AND 2
-- → StatementError: line 1:1: Cannot compare I (INTEGER) to 'a' (STRING) with GREATER_THAN_OR_EQUAL.
-- →   hint: CAST one to the other's type

S LIKE 'a%'
-- → BOOLEAN

I LIKE 'a'
-- → StatementError: line 1:1: LIKE requires a STRING, and I (INTEGER) is not one

S LIKE I
-- → StatementError: line 1:8: LIKE requires a STRING, and I (INTEGER) is not one

S LIKE 'a!' ESCAPE '!'
-- → StatementError: line 1:8: the pattern ends in its escape character

T AND I
-- → StatementError: line 1:7: AND requires a BOOLEAN, and I (INTEGER) is not one
-- →   hint: compare it with a value, by = or >

NOT I
-- → StatementError: line 1:5: NOT requires a BOOLEAN, and I (INTEGER) is not one
-- →   hint: compare it with a value, by = or >

CASE WHEN T THEN 1 ELSE 2.5 END
-- → DECIMAL(11, 1)

CASE WHEN T THEN 'a' ELSE 1 END
-- → STRING

CASE WHEN T THEN I ELSE 'x' END
-- → StatementError: line 1:25: invalid input syntax for type INTEGER: "x".

CASE WHEN T THEN S ELSE I END
-- → StatementError: line 1:25: operator does not exist: STRING = INTEGER (I)
-- →   hint: CAST one to the other's type

CASE WHEN T THEN NULL ELSE NULL END
-- → StatementError: line 1:1: Invalid Case expression. All case branches have NULL type
-- →   hint: CAST one: CAST(NULL AS INT)

CASE WHEN I THEN 1 END
-- → StatementError: line 1:11: WHEN operand type should be boolean. Type for 'I' is INTEGER
-- →   hint: compare it with a value, by = or >

CASE I WHEN 1 THEN S WHEN 2 THEN 'b' END
-- → STRING

CASE I WHEN 'x' THEN S END
-- → StatementError: line 1:13: Cannot compare I (INTEGER) to 'x' (STRING) with EQUAL.
-- →   hint: CAST one to the other's type

ARRAY[1, 2.5, '3']
-- → ARRAY<DECIMAL(11, 1)>

ARRAY[]
-- → StatementError: line 1:1: the ARRAY constructor cannot be empty: its type would be unknown
-- →   hint: e.g. ARRAY[1]

ARRAY[NULL]
-- → StatementError: line 1:1: an ARRAY with all NULL elements has no type
-- →   hint: CAST one: CAST(NULL AS INT)

ARRAY[1, 'not a number']
-- → StatementError: line 1:10: invalid input syntax for type INTEGER: "not a number".

ARRAY[I, T]
-- → StatementError: line 1:10: operator does not exist: INTEGER = BOOLEAN (T)

ARRAY[STRUCT(A := 1), STRUCT(A := 2.5, C := S)]
-- → ARRAY<STRUCT<`A` DECIMAL(11, 1), `C` STRING>>

MAP('a' := I, S := '5')
-- → MAP<STRING, INTEGER>

MAP('a' := I, S := 'hello')
-- → StatementError: line 1:20: invalid input syntax for type INTEGER: "hello".

MAP(NULL := I)
-- → StatementError: line 1:1: a MAP with all NULL keys has no type
-- →   hint: CAST one: CAST(NULL AS INT)

MAP('a' := NULL)
-- → StatementError: line 1:1: a MAP with all NULL values has no type
-- →   hint: CAST one: CAST(NULL AS INT)

MAP()
-- → StatementError: line 1:1: the MAP constructor cannot be empty: its type would be unknown
-- →   hint: e.g. MAP('a' := 1)

STRUCT(A := I, `a` := S)
-- → STRUCT<`A` INTEGER, `a` STRING>

STRUCT(A := I, A := S)
-- → StatementError: line 1:21: field A is repeated

STRUCT(A := NULL)
-- → StatementError: line 1:13: field A is NULL and has no type
-- →   hint: CAST it

STRUCT()
-- → STRUCT<>

A[1]
-- → INTEGER

A[L]
-- → INTEGER

A['1']
-- → StatementError: line 1:3: [ ] requires INTEGER here, and '1' (STRING) is not

MP['k']
-- → BIGINT

MP[1]
-- → StatementError: line 1:4: [ ] requires STRING here, and 1 (INTEGER) is not

ST['ID']
-- → StatementError: line 1:1: [ ] reads an element of an ARRAY or a MAP, and ST (STRUCT<`ID` INTEGER, `NAME` STRING>) is neither
-- →   hint: the fields of a STRUCT are read with ->

ST->ID
-- → INTEGER

ST->id
-- → INTEGER

ST->NAMES
-- → StatementError: line 1:1: Could not find field 'NAMES' in 'ST'.
-- →   hint: did you mean NAME?

I->ID
-- → StatementError: line 1:1: I (INTEGER) has no fields: -> reads a field of a STRUCT

CAST(S AS DECIMAL(4, 2))
-- → DECIMAL(4, 2)

CAST(S AS ARRAY<INTEGER>)
-- → StatementError: line 1:1: STRING cannot be CAST to ARRAY<INTEGER>

CAST(T AS INTEGER)
-- → StatementError: line 1:1: BOOLEAN cannot be CAST to INTEGER

CAST(BIN AS STRING)
-- → StatementError: line 1:1: BYTES cannot be CAST to STRING
-- →   hint: FROM_BYTES turns BYTES into text

CAST(A AS ARRAY<STRING>)
-- → ARRAY<STRING>

CAST(A AS ARRAY<BYTES>)
-- → StatementError: line 1:1: ARRAY<INTEGER> cannot be CAST to ARRAY<BYTES>

CAST(ST AS STRUCT<ID STRING, X INTEGER>)
-- → STRUCT<`ID` STRING, `X` INTEGER>

CAST(NULL AS MONEY)
-- → DECIMAL(10, 2)

CAST(I AS MOENY)
-- → StatementError: line 1:1: there is no type MOENY
-- →   hint: did you mean MONEY?

CAST(DAY AS TIME)
-- → StatementError: line 1:1: DATE cannot be CAST to TIME

CAST(NULL AS STRING)
-- → STRING

NULL
-- → NULL

DECIMAL '1.20'
-- → DECIMAL(3, 2)

DECIMAL 'x'
-- → StatementError: line 1:1: 'x' is not a valid DECIMAL

DATE '2020-01-01'
-- → NotSupported: line 1:1: constants written DATE '…' are not supported
-- →   hint: CAST('…' AS DATE)

TS AT TIME ZONE 'UTC'
-- → NotSupported: line 1:1: AT TIME ZONE is not supported
-- →   hint: CONVERT_TZ shifts a timestamp between zones

UNKNOWN
-- → StatementError: line 1:1: Column 'UNKNOWN' cannot be resolved.
-- →   hint: columns here: I, L, D, M, S, T, B, BIN, DAY, CLOCK, TS, A, MP, ST, SAME, DEEP

i + `i`
-- → StatementError: line 1:5: Column 'i' cannot be resolved.
-- →   hint: did you mean I? Unquoted names are read in upper case; backticks keep the case

`unknown`.I
-- → StatementError: line 1:1: Column 'unknown.I' cannot be resolved.
-- →   hint: sources here: T1, T2

T1.I
-- → INTEGER

T1.ROWTIME
-- → BIGINT

SAME
-- → StatementError: line 1:1: Column 'SAME' is ambiguous. Could be T1.SAME or T2.SAME.
-- →   hint: put the source's name before the column's

T1.SAME
-- → INTEGER

ROWTIME + ROWOFFSET + ROWPARTITION
-- → BIGINT

WINDOWSTART
-- → StatementError: line 1:1: Column 'WINDOWSTART' cannot be resolved.
-- →   hint: a window's bounds are columns of a windowed source, and of the SELECT of a windowed aggregate without a join

LCASE(S)
-- → STRING

LCASE(I)
-- → StatementError: line 1:1: Function 'LCASE' does not accept parameters (INTEGER).
-- →   hint: valid calls are LCASE(text STRING)

LCASES(S)
-- → StatementError: line 1:1: there is no function named 'LCASES'
-- →   hint: did you mean LCASE?

COALESCE(I, L, 1.5)
-- → DECIMAL(20, 1)

COUNT(*)
-- → StatementError: line 1:1: the aggregate function COUNT is not supported here
-- →   hint: an aggregate function is only allowed in the SELECT or HAVING of a query with GROUP BY

EXPLODE(A)
-- → NotSupported: line 1:1: the table function EXPLODE is not supported here
-- →   hint: it is only allowed in the SELECT of a query on a stream, and not inside another of its kind

TRANSFORM(A, x => x * L)
-- → ARRAY<BIGINT>

TRANSFORM(A, x => y)
-- → StatementError: line 1:19: Column 'Y' cannot be resolved.
-- →   hint: columns here: I, L, D, M, S, T, B, BIN, DAY, CLOCK, TS, A, MP, ST, SAME, DEEP

TRANSFORM(A, x => NULL)
-- → StatementError: line 1:19: this lambda returns NULL, which has no type
-- →   hint: CAST it

REDUCE(A, 0, (x, x) => x)
-- → StatementError: line 1:14: two parameters of this lambda have one name

TRANSFORM(MP, (k, v) => LCASE(k), (k, v) => v + I)
-- → MAP<STRING, BIGINT>

DATEADD(DAYS, 1, DAY)
-- → DATE

LCASE(DAYS)
-- → StatementError: line 1:1: Function 'LCASE' does not accept parameters (INTERVALUNIT).
-- →   hint: valid calls are LCASE(text STRING); a column with the name of a unit is written in backticks

99999999999999999999999999999999999999.9
-- → NotSupported: line 1:1: a constant of more than 38 digits is not supported

DEEP->`A`->`B`[1]->`C`
-- → DOUBLE

I IN ('1e999999999')
-- → NotSupported: line 1:7: Invalid Predicate: a constant of more than 38 digits is not supported

ARRAY[1, '1e999999999', 3]
-- → NotSupported: line 1:10: a constant of more than 38 digits is not supported

CASE WHEN T THEN M ELSE '1e-40' END
-- → NotSupported: line 1:25: a constant of more than 38 digits is not supported

ARRAY[1e0, '1e300']
-- → ARRAY<DOUBLE>

DECIMAL '1e999999999'
-- → NotSupported: line 1:1: a constant of more than 38 digits is not supported
