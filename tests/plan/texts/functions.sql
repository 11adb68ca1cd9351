CREATE FUNCTION half(x INT) RETURNS DOUBLE LANGUAGE PYTHON AS $$ x / 2 $$; CREATE STREAM a AS SELECT id, half(amount) AS h FROM orders; DROP FUNCTION half;
-- → Function HALF created
-- → Created query with ID CSAS_A_0
-- → Python: HALF (a round trip to a worker process for each call, well below a millisecond; the query stays in real-time mode)
-- → line 1:137: Cannot drop HALF: queries call it: CSAS_A_0
-- →   hint: TERMINATE them first

CREATE FUNCTION half(x INT) RETURNS DOUBLE LANGUAGE PYTHON AS $$ x / 2 $$; SELECT HALF('3') FROM orders EMIT CHANGES;
-- → Function HALF created
-- → line 1:83: Function 'HALF' does not accept parameters (STRING).
-- →   hint: valid calls are HALF(X INTEGER)

CREATE FUNCTION f() RETURNS INT LANGUAGE PYTHON AS $$ 1 $$; CREATE FUNCTION f() RETURNS INT LANGUAGE PYTHON AS $$ 2 $$;
-- → Function F created
-- → line 1:61: Function F already exists
-- →   hint: use CREATE OR REPLACE FUNCTION, or DROP it first

CREATE FUNCTION f() RETURNS INT LANGUAGE PYTHON AS $$ 1 $$; CREATE FUNCTION IF NOT EXISTS f() RETURNS INT LANGUAGE PYTHON AS $$ 2 $$; CREATE OR REPLACE FUNCTION f() RETURNS INT LANGUAGE PYTHON AS $$ 3 $$; DROP FUNCTION f; DROP FUNCTION IF EXISTS f; DROP FUNCTION f;
-- → Function F created
-- → Function F already exists
-- → Function F replaced
-- → Function F dropped
-- → Function F does not exist
-- → line 1:250: Function F does not exist

CREATE FUNCTION ucase(x STRING) RETURNS STRING LANGUAGE PYTHON AS $$ x.upper() $$;
-- → line 1:1: UCASE is a built-in function
-- →   hint: choose another name

DROP FUNCTION ucase;
-- → line 1:1: UCASE is a built-in function: it cannot be dropped

CREATE FUNCTION `a b`(x STRING) RETURNS STRING LANGUAGE PYTHON AS $$ x $$;
-- → line 1:1: `A B` is not a valid name of a function
-- →   hint: letters, digits and _

CREATE FUNCTION f(lambda STRING) RETURNS STRING LANGUAGE PYTHON AS $$ 1 $$;
-- → line 1:1: lambda cannot be a parameter in Python
-- →   hint: choose another name

CREATE FUNCTION f(x nowhere) RETURNS STRING LANGUAGE PYTHON AS $$ x $$;
-- → line 1:19: there is no type NOWHERE
-- →   hint: SHOW TYPES lists the existing ones

CREATE FUNCTION f(x STRING) RETURNS STRING LANGUAGE PYTHON AS $$
  y = x.strip()
  return y +
$$;
-- → line 3:1: Python: invalid syntax, in: return y +

CREATE FUNCTION f(x STRING) RETURNS STRING LANGUAGE PYTHON AS $$
  y = x.strip()
$$;
-- → line 2:1: this does not return a result
-- →   hint: end it with an expression, or return one, or define f(…)

CREATE FUNCTION f(x STRING) RETURNS STRING LANGUAGE PYTHON AS $$
  def F(x, y):
      return x
$$;
-- → line 2:1: F cannot be called with the 1 argument(s) that are declared
-- →   hint: def F(x):

CREATE FUNCTION f(x STRING) RETURNS STRING LANGUAGE PYTHON AS $$
  def f(x):
      break
$$;
-- → line 3:1: Python: 'break' outside loop

CREATE AGGREGATE FUNCTION f(x STRING) RETURNS STRING LANGUAGE PYTHON AS $$ x $$;
-- → line 1:73: an aggregate function is a class, and none is named f
-- →   hint: class f: with the methods initial, add, result, and undo and merge where it can

CREATE AGGREGATE FUNCTION f(x STRING) RETURNS STRING LANGUAGE PYTHON AS $$
  class F:
      def initial(self): return 0
$$;
-- → line 2:1: class F has no method add
-- →   hint: it needs initial, add, result

CREATE AGGREGATE FUNCTION f(x STRING) RETURNS STRING LANGUAGE PYTHON RETURNS NULL ON NULL INPUT AS $$ x $$;
-- → line 1:1: RETURNS NULL ON NULL INPUT is not for aggregate functions
-- →   hint: add(self, state, …) is called for nulls and may ignore them

CREATE AGGREGATE FUNCTION add_up(x INT) RETURNS INT LANGUAGE PYTHON AS $$
  class Add_Up:
      def initial(self): return 0
      def add(self, state, x): return state + x
      def result(self, state): return state
$$; CREATE TABLE t AS SELECT item, add_up(amount) FROM orders GROUP BY item; CREATE TABLE t2 AS SELECT item, add_up(amount) FROM orders WINDOW SESSION (1 HOUR) GROUP BY item;
-- → Function ADD_UP created
-- → Created query with ID CTAS_T_0
-- → Python: ADD_UP (a round trip to a worker process for each call, well below a millisecond; the query stays in real-time mode)
-- → line 6:110: ADD_UP cannot be computed in SESSION windows: two of its states cannot be merged
-- →   hint: give its class a method merge(self, one, other)

CREATE AGGREGATE FUNCTION add_up(x INT) RETURNS INT LANGUAGE PYTHON AS $$
  class Add_Up:
      def initial(self): return 0
      def add(self, state, x): return state + x
      def result(self, state): return state
$$; CREATE TABLE t AS SELECT age, add_up(age) FROM people GROUP BY age;
-- → Function ADD_UP created
-- → line 6:35: The aggregation function ADD_UP cannot be applied to a table source, only to a stream source.
-- →   hint: ADD_UP cannot take a row back, which changes of a table require

CREATE AGGREGATE FUNCTION add_up(x INT) RETURNS INT LANGUAGE PYTHON AS $$
  class Add_Up:
      def initial(self): return 0
      def add(self, state, x): return state + x
      def result(self, state): return state
$$; CREATE OR REPLACE FUNCTION add_up(x INT) RETURNS INT LANGUAGE PYTHON AS $$ x $$;
-- → Function ADD_UP created
-- → line 6:5: ADD_UP is an aggregate function, and this is a function of single rows
-- →   hint: DROP it first

CREATE AGGREGATE FUNCTION add_up(x INT) RETURNS INT LANGUAGE PYTHON AS $$
  class Add_Up:
      def initial(self): return 0
      def add(self, state, x): return state + x
      def result(self, state): return state
$$; SELECT add_up(amount) FROM orders EMIT CHANGES;
-- → Function ADD_UP created
-- → Answer ADD_UP(AMOUNT) AS KSQL_COL_0
-- →   Group by TRUE: ADD_UP(AMOUNT)
-- →     Read STREAM ORDERS from topic orders (key KAFKA, value JSON)

SELECT halve(amount) FROM orders EMIT CHANGES;
-- → line 1:8: there is no function named 'HALVE'
-- →   hint: SHOW FUNCTIONS lists all

CREATE FUNCTION halves(x INT) RETURNS DOUBLE LANGUAGE PYTHON AS $$ x / 2 $$; SELECT halve(amount) FROM orders EMIT CHANGES;
-- → Function HALVES created
-- → line 1:85: there is no function named 'HALVE'
-- →   hint: did you mean HALVES?
