CREATE STREAM o AS SELECT * FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id;
-- → STREAM (A_ID INTEGER KEY, A_X INTEGER, A_V STRING, B_ID INTEGER, B_Y INTEGER, B_V STRING, B_TAGS MAP<STRING, INTEGER>)
-- → Select A.ID AS A_ID KEY, A.X AS A_X, A.V AS A_V, B.ID AS B_ID, B.Y AS B_Y, B.V AS B_V, B.TAGS AS B_TAGS
-- →   Join (INNER) on A.ID = B.ID within 3600000 ms before, 3600000 ms after, grace 86400000 ms
-- →     Select ID KEY, ID, X, V
-- →       Read STREAM A from topic a (key JSON, value JSON)
-- →     Select ID KEY, ID, Y, V, TAGS
-- →       Read STREAM B from topic b (key JSON, value JSON)

CREATE STREAM o AS SELECT a.*, y, b.v AS bv FROM a JOIN b WITHIN (0 SECONDS, 1 MINUTE) GRACE PERIOD 5 SECONDS ON x = b.id;
-- → STREAM (A_X INTEGER KEY, A_ID INTEGER, A_V STRING, Y INTEGER, BV STRING)
-- → Select A.X AS A_X KEY, A.ID AS A_ID, A.V AS A_V, Y, B.V AS BV
-- →   Join (INNER) on X = B.ID within 0 ms before, 60000 ms after, grace 5000 ms; repartition of the left side by the join key
-- →     Select ID KEY, ID, X, V
-- →       Read STREAM A from topic a (key JSON, value JSON)
-- →     Select ID KEY, ID, Y, V
-- →       Read STREAM B from topic b (key JSON, value JSON)

CREATE STREAM o AS SELECT r.id, l.v, l.x FROM a l LEFT JOIN b r WITHIN 1 HOUR ON l.id = r.id;
-- → STREAM (R_ID INTEGER KEY, L_V STRING, X INTEGER)
-- → Select R.ID AS R_ID KEY, L.V AS L_V, X
-- →   Join (LEFT) on L.ID = R.ID within 3600000 ms before, 3600000 ms after, grace 86400000 ms, unmatched rows at once
-- →     Select ID KEY, ID, X, V
-- →       Read STREAM A from topic a (key JSON, value JSON)
-- →     Select ID KEY, ID, V
-- →       Read STREAM B from topic b (key JSON, value JSON)

CREATE STREAM o AS SELECT ROWKEY AS k, a.v, y FROM a FULL JOIN b WITHIN 1 HOUR ON a.id = b.id;
-- → STREAM (K INTEGER KEY, A_V STRING, Y INTEGER)
-- → Select ROWKEY AS K KEY, A.V AS A_V, Y
-- →   Join (FULL OUTER) on A.ID = B.ID within 3600000 ms before, 3600000 ms after, grace 86400000 ms, unmatched rows at once
-- →     Select ID KEY, ID, V
-- →       Read STREAM A from topic a (key JSON, value JSON)
-- →     Select ID KEY, ID, Y, V
-- →       Read STREAM B from topic b (key JSON, value JSON)

CREATE STREAM o AS SELECT ROWKEY, a.v FROM a JOIN b WITHIN 1 HOUR ON ABS(a.id) = ABS(b.id);
-- → STREAM (ROWKEY INTEGER KEY, A_V STRING)
-- → Select ROWKEY KEY, A.V AS A_V
-- →   Join (INNER) on ABS(A.ID) = ABS(B.ID) within 3600000 ms before, 3600000 ms after, grace 86400000 ms; repartition of the left and the right side by the join key
-- →     Select ID KEY, ID, V
-- →       Read STREAM A from topic a (key JSON, value JSON)
-- →     Select ID KEY, ID, V
-- →       Read STREAM B from topic b (key JSON, value JSON)

CREATE STREAM o AS SELECT a.id, a.ROWTIME AS seen, name FROM a LEFT JOIN t ON a.id = t.id WHERE name <> '' PARTITION BY a.id;
-- → STREAM (A_ID INTEGER KEY, SEEN BIGINT, NAME STRING)
-- → Select A.ID AS A_ID KEY, A.ROWTIME AS SEEN, NAME
-- →   Partition by A.ID
-- →     Filter NAME <> ''
-- →       Join (LEFT) on A.ID = T.ID
-- →         Select ID KEY, ID, ROWTIME
-- →           Read STREAM A from topic a (key JSON, value JSON)
-- →         Select ID KEY, ID, NAME, ROWTIME
-- →           Read TABLE T from topic t (key JSON, value JSON)

CREATE STREAM o AS SELECT n.id, name FROM n JOIN t ON n.id = t.id;
-- → STREAM (N_ID INTEGER KEY, NAME STRING)
-- → Select N.ID AS N_ID KEY, NAME
-- →   Join (INNER) on N.ID = T.ID; repartition of the left side by the join key
-- →     Select ID
-- →       Read STREAM N from topic n (key KAFKA, value JSON)
-- →     Select ID KEY, ID, NAME
-- →       Read TABLE T from topic t (key JSON, value JSON)

CREATE TABLE o AS SELECT t.id, t.name, u.name FROM t RIGHT JOIN u ON t.id = u.id;
-- → TABLE (T_ID INTEGER KEY, T_NAME STRING, U_NAME STRING)
-- → Select T.ID AS T_ID KEY, T.NAME AS T_NAME, U.NAME AS U_NAME
-- →   Join (RIGHT) on T.ID = U.ID
-- →     Select ID KEY, ID, NAME
-- →       Read TABLE T from topic t (key JSON, value JSON)
-- →     Select ID KEY, ID, NAME
-- →       Read TABLE U from topic u (key JSON, value JSON)

CREATE TABLE o AS SELECT t.id, t.name, u.name FROM t LEFT JOIN u ON u_id = u.id;
-- → TABLE (T_ID INTEGER KEY, T_NAME STRING, U_NAME STRING)
-- → Select T.ID AS T_ID KEY, T.NAME AS T_NAME, U.NAME AS U_NAME
-- →   Look up (LEFT) on U_ID = U.ID; repartition of the left side by the join key
-- →     Select ID KEY, ID, U_ID, NAME
-- →       Read TABLE T from topic t (key JSON, value JSON)
-- →     Select ID KEY, ID, NAME
-- →       Read TABLE U from topic u (key JSON, value JSON)

CREATE TABLE o AS SELECT k1, k2, m.name, u.name FROM m JOIN u ON k2 = u.id;
-- → TABLE (K1 INTEGER KEY, K2 INTEGER KEY, M_NAME STRING, U_NAME STRING)
-- → Select K1 KEY, K2 KEY, M.NAME AS M_NAME, U.NAME AS U_NAME
-- →   Look up (INNER) on K2 = U.ID; repartition of the left side by the join key
-- →     Select K1 KEY, K2 KEY, K1, K2, NAME
-- →       Read TABLE M from topic m (key JSON, value JSON)
-- →     Select ID KEY, ID, NAME
-- →       Read TABLE U from topic u (key JSON, value JSON)

CREATE STREAM o AS SELECT b.id, x, y, name FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id LEFT JOIN t ON b.id = t.id;
-- → STREAM (B_ID INTEGER KEY, X INTEGER, Y INTEGER, NAME STRING)
-- → Select B.ID AS B_ID KEY, X, Y, NAME
-- →   Join (LEFT) on B.ID = T.ID
-- →     Join (INNER) on A.ID = B.ID within 3600000 ms before, 3600000 ms after, grace 86400000 ms
-- →       Select ID KEY, ID, X
-- →         Read STREAM A from topic a (key JSON, value JSON)
-- →       Select ID KEY, ID, Y
-- →         Read STREAM B from topic b (key JSON, value JSON)
-- →     Select ID KEY, ID, NAME
-- →       Read TABLE T from topic t (key JSON, value JSON)

CREATE STREAM o AS SELECT t.id, x, y FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id JOIN t ON a.x = t.id;
-- → STREAM (X INTEGER KEY, T_ID INTEGER, Y INTEGER)
-- → Select X KEY, T.ID AS T_ID, Y
-- →   Join (INNER) on A.X = T.ID; repartition of the left side by the join key
-- →     Join (INNER) on A.ID = B.ID within 3600000 ms before, 3600000 ms after, grace 86400000 ms
-- →       Select ID KEY, ID, X
-- →         Read STREAM A from topic a (key JSON, value JSON)
-- →       Select ID KEY, ID, Y
-- →         Read STREAM B from topic b (key JSON, value JSON)
-- →     Select ID KEY, ID
-- →       Read TABLE T from topic t (key JSON, value JSON)

CREATE TABLE o AS SELECT t.id, t.name, e.name FROM t JOIN u ON u_id = u.id JOIN e ON t.id = e.id;
-- → TABLE (T_ID INTEGER KEY, T_NAME STRING, E_NAME STRING)
-- → Select T.ID AS T_ID KEY, T.NAME AS T_NAME, E.NAME AS E_NAME
-- →   Join (INNER) on T.ID = E.ID
-- →     Look up (INNER) on U_ID = U.ID; repartition of the left side by the join key
-- →       Select ID KEY, ID, U_ID, NAME
-- →         Read TABLE T from topic t (key JSON, value JSON)
-- →       Select ID KEY, ID, NAME
-- →         Read TABLE U from topic u (key JSON, value JSON)
-- →     Select ID KEY, ID, NAME
-- →       Read TABLE E from topic e (key JSON, value JSON)

CREATE TABLE o AS SELECT name, COUNT(*) AS n FROM a JOIN t ON a.id = t.id GROUP BY name;
-- → TABLE (NAME STRING KEY, N BIGINT)
-- → Select NAME KEY, COUNT(*) AS N
-- →   Group by NAME: COUNT(*)
-- →     Join (INNER) on A.ID = T.ID
-- →       Select ID KEY, ID
-- →         Read STREAM A from topic a (key JSON, value JSON)
-- →       Select ID KEY, ID, NAME
-- →         Read TABLE T from topic t (key JSON, value JSON)

CREATE STREAM o AS SELECT w.id, w.q, x.q, w.WINDOWSTART AS s FROM w JOIN x WITHIN 1 HOUR ON w.id = x.id;
-- → STREAM (W_ID INTEGER KEY, W_Q INTEGER, X_Q INTEGER, S BIGINT)
-- → Select W.ID AS W_ID KEY, W.Q AS W_Q, X.Q AS X_Q, W.WINDOWSTART AS S
-- →   Join (INNER) on W.ID = X.ID within 3600000 ms before, 3600000 ms after, grace 86400000 ms
-- →     Select ID KEY, ID, Q, WINDOWSTART
-- →       Read STREAM W from topic w (key JSON, value JSON)
-- →     Select ID KEY, ID, Q, WINDOWSTART
-- →       Read STREAM X from topic x (key JSON, value JSON)

SELECT name, v FROM a JOIN t ON a.id = t.id EMIT CHANGES;
-- → Answer NAME, V
-- →   Join (INNER) on A.ID = T.ID
-- →     Select ID KEY, ID, V
-- →       Read STREAM A from topic a (key JSON, value JSON)
-- →     Select ID KEY, ID, NAME
-- →       Read TABLE T from topic t (key JSON, value JSON)

CREATE STREAM o AS SELECT * FROM a JOIN b ON a.id = b.id;
-- → line 1:36: Stream-Stream joins must have a WITHIN clause specified. None was provided.
-- →   hint: … JOIN s WITHIN 1 HOUR ON …

CREATE STREAM o AS SELECT * FROM a JOIN t WITHIN 1 HOUR ON a.id = t.id;
-- → line 1:50: A window definition was provided for a Stream-Table join. These joins are not windowed.
-- →   hint: leave WITHIN out

CREATE STREAM o AS SELECT * FROM a RIGHT JOIN t ON a.id = t.id;
-- → line 1:36: RIGHT OUTER joins between streams and tables (stream: A, table: T) are not supported.
-- →   hint: a row of the table alone is not an event: use INNER or LEFT

CREATE STREAM o AS SELECT * FROM a JOIN t ON a.id = t.u_id;
-- → line 1:36: Invalid join condition: stream-table joins require to join on the table's primary key. Got A.ID = T.U_ID.

CREATE STREAM o AS SELECT * FROM a JOIN m ON a.id = m.k1;
-- → line 1:36: Invalid join condition: stream-table joins require to join on the table's primary key. Got A.ID = M.K1.
-- →   hint: its key has several columns: ON … = M.K1 AND … = M.K2

CREATE STREAM o AS SELECT * FROM a JOIN far ON a.id = far.id;
-- → line 1:1: Can't join A with FAR since the number of partitions don't match. A partitions = 2; FAR partitions = 5.
-- →   hint: recreate either one so that the numbers of partitions match, or SET 'millstream.join.equal.partitions'='false'

CREATE TABLE o AS SELECT * FROM t JOIN a ON a.id = t.id;
-- → line 1:35: Invalid join order: table-stream joins are not supported; only stream-table joins. Got T [INNER] JOIN A.
-- →   hint: put the stream on the left

CREATE TABLE o AS SELECT * FROM t JOIN u ON t.id = u.name;
-- → line 1:45: Invalid join condition: types don't match. Got T.ID{INTEGER} = U.NAME{STRING}.
-- →   hint: CAST one to the other's type

CREATE TABLE o AS SELECT * FROM t FULL JOIN u ON u_id = u.id;
-- → line 1:35: Invalid join type: FULL OUTER JOIN on a foreign key is not supported. Got U_ID = U.ID.

CREATE TABLE o AS SELECT u.name FROM t JOIN u ON u_id = u.id;
-- → line 1:19: Primary key column missing in projection. For foreign-key table-table joins, the projection must include all primary key columns from the left input table (T). Missing column: ID.

CREATE TABLE o AS SELECT * FROM t JOIN u ON t.id = u.id JOIN far ON u_id = far.id;
-- → line 1:57: Invalid join condition: foreign-key table-table joins are not supported as part of n-way joins. Got U_ID = FAR.ID.
-- →   hint: a foreign-key join may be the first of the chain

CREATE STREAM o AS SELECT * FROM a JOIN a WITHIN 1 HOUR ON a.id = a.id;
-- → line 1:41: Can not join 'A' to 'A': self joins are not yet supported.
-- →   hint: make a second source over the same topic

CREATE STREAM o AS SELECT * FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id JOIN a AS c WITHIN 1 HOUR ON c.id = b.id;
-- → line 1:77: N-way joins do not support multiple occurrences of the same source. Source: 'A'
-- →   hint: make a second source over the same topic

CREATE STREAM o AS SELECT * FROM a JOIN b AS a WITHIN 1 HOUR ON a.id = a.id;
-- → line 1:41: two sources are called A
-- →   hint: give one of them an alias

CREATE STREAM o AS SELECT * FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id AND a.x = b.y;
-- → STREAM (A_ID INTEGER KEY, A_X INTEGER KEY, A_V STRING, B_ID INTEGER, B_Y INTEGER, B_V STRING, B_TAGS MAP<STRING, INTEGER>)
-- → Select A.ID AS A_ID KEY, A.X AS A_X KEY, A.V AS A_V, B.ID AS B_ID, B.Y AS B_Y, B.V AS B_V, B.TAGS AS B_TAGS
-- →   Join (INNER) on A.ID = B.ID AND A.X = B.Y within 3600000 ms before, 3600000 ms after, grace 86400000 ms; repartition of the left and the right side by the join key
-- →     Select ID KEY, ID, X, V
-- →       Read STREAM A from topic a (key JSON, value JSON)
-- →     Select ID KEY, ID, Y, V, TAGS
-- →       Read STREAM B from topic b (key JSON, value JSON)

CREATE STREAM o AS SELECT * FROM a JOIN b WITHIN 1 HOUR ON a.id < b.id;
-- → line 1:60: Invalid join condition: only equalities are supported. Got A.ID < B.ID.
-- →   hint: ON a.id = b.id AND a.day = b.day; other conditions are put into WHERE

CREATE STREAM o AS SELECT * FROM a JOIN b WITHIN 1 HOUR ON a.id = 1;
-- → line 1:67: Invalid comparison expression '1' in join '(A.ID = 1)'. Each side of the join comparision must contain references from exactly one source.

CREATE STREAM o AS SELECT * FROM a JOIN b WITHIN 1 HOUR ON a.id + b.id = b.y;
-- → line 1:60: Invalid comparison expression 'A.ID + B.ID' in join '(A.ID + B.ID = B.Y)'. Each side of the join comparision must contain references from exactly one source.

CREATE STREAM o AS SELECT * FROM a JOIN b WITHIN 1 HOUR ON id = y;
-- → line 1:60: Column 'ID' is ambiguous. Could be A.ID or B.ID.
-- →   hint: put the source's name before the column's

CREATE STREAM o AS SELECT * FROM a JOIN b WITHIN 1 HOUR ON zz.id = b.id;
-- → line 1:60: JOIN ON column 'ZZ.ID' cannot be resolved.
-- →   hint: sources here: A, B

CREATE STREAM o AS SELECT * FROM a JOIN b WITHIN 1 HOUR ON a.xx = b.id;
-- → line 1:60: JOIN ON column 'A.XX' cannot be resolved.
-- →   hint: did you mean X?

CREATE STREAM o AS SELECT * FROM a JOIN b WITHIN 1 HOUR ON a.v = b.id;
-- → line 1:60: Invalid join condition: types don't match. Got A.V{STRING} = B.ID{INTEGER}.
-- →   hint: CAST one to the other's type

CREATE STREAM o AS SELECT * FROM b JOIN a WITHIN 1 HOUR ON b.tags = a.id;
-- → line 1:60: Invalid join condition: types don't match. Got B.TAGS{MAP<STRING, INTEGER>} = A.ID{INTEGER}.

CREATE STREAM o AS SELECT * FROM a JOIN k WITHIN 1 HOUR ON a.id = k.id;
-- → line 1:41: Source(s) K are using the 'KAFKA' value format. This format does not yet support JOIN.

CREATE STREAM o AS SELECT * FROM a JOIN w WITHIN 1 HOUR ON a.id = w.id;
-- → line 1:41: Can not join windowed source to non-windowed source. W is SESSION windowed, A is not windowed

CREATE STREAM o AS SELECT * FROM a FULL JOIN c WITHIN 1 HOUR ON a.id = c.id PARTITION BY a.x;
-- → STREAM (A_X INTEGER KEY, A_V STRING, A_ROWTIME BIGINT, A_ROWPARTITION INTEGER, A_ROWOFFSET BIGINT, A_ID INTEGER, C_V STRING, C_ROWTIME BIGINT, C_ROWPARTITION INTEGER, C_ROWOFFSET BIGINT, C_ID INTEGER, ROWKEY INTEGER)
-- → Select A.X AS A_X KEY, A.V AS A_V, A.ROWTIME AS A_ROWTIME, A.ROWPARTITION AS A_ROWPARTITION, A.ROWOFFSET AS A_ROWOFFSET, A.ID AS A_ID, C.V AS C_V, C.ROWTIME AS C_ROWTIME, C.ROWPARTITION AS C_ROWPARTITION, C.ROWOFFSET AS C_ROWOFFSET, C.ID AS C_ID, ROWKEY
-- →   Partition by A.X
-- →     Join (FULL OUTER) on A.ID = C.ID within 3600000 ms before, 3600000 ms after, grace 86400000 ms, unmatched rows at once; repartition of the right side by the join key
-- →       Select ID KEY, ID, X, V, ROWTIME, ROWPARTITION, ROWOFFSET
-- →         Read STREAM A from topic a (key JSON, value JSON)
-- →       Select ID KEY, ID, V, ROWTIME, ROWPARTITION, ROWOFFSET
-- →         Read STREAM C from topic c (key JSON, value JSON)

CREATE STREAM o AS SELECT * FROM w JOIN hop WITHIN 1 HOUR ON w.id = hop.id;
-- → line 1:41: Incompatible windowed sources. Left source: SESSION. Right source: HOPPING. Session windowed sources can only be joined to other session windowed sources, and may still not result in expected behaviour as session bounds must be an exact match for the join to work. Hopping and tumbling windowed sources can only be joined to other hopping and tumbling windowed sources.

CREATE STREAM o AS SELECT * FROM x JOIN w WITHIN 1 HOUR ON x.q = w.id;
-- → line 1:36: Implicit repartitioning of windowed sources is not supported.
-- →   hint: join them on their keys, of equal windows

CREATE STREAM o AS SELECT * FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id JOIN t ON a.x = b.y;
-- → line 1:82: A join criteria is expected to reference the source (T) in the FROM clause, instead the right source references B and the left source references A

CREATE STREAM o AS SELECT x, y FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id;
-- → line 1:20: Key missing from projection (ie, SELECT). The query used to build O must include the join expressions A.ID or B.ID in its projection (eg, SELECT A.ID...).

CREATE STREAM o AS SELECT a.*, b.* FROM a FULL JOIN b WITHIN 1 HOUR ON a.id = b.id;
-- → line 1:20: Key missing from projection (ie, SELECT). The query used to build O must include the join expression ROWKEY in its projection (eg, SELECT ROWKEY...). ROWKEY was added as a synthetic key column because the join criteria did not match any source column. This expression must be included in the projection and may be aliased.

CREATE STREAM o AS SELECT a.id, a.id AS again, y FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id;
-- → line 1:20: The projection contains a key column (A_ID) more than once, aliased as: A_ID and AGAIN.
-- →   hint: use AS_VALUE(A_ID) to copy the key into the value

CREATE STREAM o AS SELECT a.id, v FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id;
-- → line 1:33: Column 'V' is ambiguous. Could be A.V or B.V.
-- →   hint: put the source's name before the column's

CREATE STREAM o AS SELECT a.id, zz.* FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id;
-- → line 1:33: 'ZZ' is not a valid stream/table name or alias.

SELECT name, v FROM a JOIN t ON a.id = t.id;
-- → line 1:23: Pull queries don't support JOIN clauses.
-- →   hint: add EMIT CHANGES if you intended to issue a push query

CREATE STREAM o AS SELECT b.id, b.v, c.v FROM b JOIN c WITHIN 1 HOUR ON b.id = c.id;
-- → STREAM (B_ID INTEGER KEY, B_V STRING, C_V STRING)
-- → Select B.ID AS B_ID KEY, B.V AS B_V, C.V AS C_V
-- →   Join (INNER) on B.ID = C.ID within 3600000 ms before, 3600000 ms after, grace 86400000 ms; repartition of the right side by the join key
-- →     Select ID KEY, ID, V
-- →       Read STREAM B from topic b (key JSON, value JSON)
-- →     Select ID KEY, ID, V
-- →       Read STREAM C from topic c (key JSON, value JSON)

CREATE STREAM o AS SELECT b.id, b.v, d.v FROM b JOIN d WITHIN 1 HOUR ON b.id = d.id;
-- → STREAM (B_ID INTEGER KEY, B_V STRING, D_V STRING)
-- → Select B.ID AS B_ID KEY, B.V AS B_V, D.V AS D_V
-- →   Join (INNER) on B.ID = D.ID within 3600000 ms before, 3600000 ms after, grace 86400000 ms; repartition of the right side by the join key
-- →     Select ID KEY, ID, V
-- →       Read STREAM B from topic b (key JSON, value JSON)
-- →     Select ID KEY, ID, V
-- →       Read STREAM D from topic a (key KAFKA, value JSON)

CREATE STREAM o AS SELECT * FROM d JOIN t ON d.id = t.id;
-- → STREAM (D_ID INTEGER KEY, D_V STRING, T_ID INTEGER, T_U_ID INTEGER, T_NAME STRING)
-- → Select D.ID AS D_ID KEY, D.V AS D_V, T.ID AS T_ID, T.U_ID AS T_U_ID, T.NAME AS T_NAME
-- →   Join (INNER) on D.ID = T.ID; repartition of the left side by the join key
-- →     Select ID KEY, ID, V
-- →       Read STREAM D from topic a (key KAFKA, value JSON)
-- →     Select ID KEY, ID, U_ID, NAME
-- →       Read TABLE T from topic t (key JSON, value JSON)

CREATE TABLE o AS SELECT * FROM t JOIN far ON t.id = far.id;
-- → TABLE (T_ID INTEGER KEY, T_U_ID INTEGER, T_NAME STRING, FAR_ID INTEGER, FAR_NAME STRING)
-- → Select T.ID AS T_ID KEY, T.U_ID AS T_U_ID, T.NAME AS T_NAME, FAR.ID AS FAR_ID, FAR.NAME AS FAR_NAME
-- →   Join (INNER) on T.ID = FAR.ID
-- →     Select ID KEY, ID, U_ID, NAME
-- →       Read TABLE T from topic t (key JSON, value JSON)
-- →     Select ID KEY, ID, NAME
-- →       Read TABLE FAR from topic far (key JSON, value JSON)

CREATE TABLE o AS SELECT * FROM t JOIN u ON t.id = u.id JOIN far ON t.id = far.id;
-- → TABLE (T_ID INTEGER KEY, T_U_ID INTEGER, T_NAME STRING, U_ID INTEGER, U_NAME STRING, FAR_ID INTEGER, FAR_NAME STRING)
-- → Select T.ID AS T_ID KEY, T.U_ID AS T_U_ID, T.NAME AS T_NAME, U.ID AS U_ID, U.NAME AS U_NAME, FAR.ID AS FAR_ID, FAR.NAME AS FAR_NAME
-- →   Join (INNER) on T.ID = FAR.ID
-- →     Join (INNER) on T.ID = U.ID
-- →       Select ID KEY, ID, U_ID, NAME
-- →         Read TABLE T from topic t (key JSON, value JSON)
-- →       Select ID KEY, ID, NAME
-- →         Read TABLE U from topic u (key JSON, value JSON)
-- →     Select ID KEY, ID, NAME
-- →       Read TABLE FAR from topic far (key JSON, value JSON)

CREATE STREAM o AS SELECT a.id, a.x, a.v, name FROM a LEFT JOIN m ON a.id = m.k1 AND x = k2;
-- → STREAM (ID INTEGER KEY, X INTEGER KEY, V STRING, NAME STRING)
-- → Select ID KEY, X KEY, V, NAME
-- →   Join (LEFT) on A.ID = M.K1 AND X = K2; repartition of the left side by the join key
-- →     Select ID KEY, ID, X, V
-- →       Read STREAM A from topic a (key JSON, value JSON)
-- →     Select K1 KEY, K2 KEY, K1, K2, NAME
-- →       Read TABLE M from topic m (key JSON, value JSON)

CREATE STREAM o AS SELECT m.k1, m.k2, a.v FROM a JOIN m ON m.k2 = a.x AND a.id = m.k1;
-- → STREAM (K1 INTEGER KEY, K2 INTEGER KEY, V STRING)
-- → Select K1 KEY, K2 KEY, V
-- →   Join (INNER) on M.K2 = A.X AND A.ID = M.K1; repartition of the left side by the join key
-- →     Select ID KEY, ID, X, V
-- →       Read STREAM A from topic a (key JSON, value JSON)
-- →     Select K1 KEY, K2 KEY, K1, K2
-- →       Read TABLE M from topic m (key JSON, value JSON)

CREATE STREAM o AS SELECT k2, a.id, a.v FROM a JOIN m ON a.id = m.k1 AND x = k2;
-- → STREAM (ID INTEGER KEY, K2 INTEGER KEY, V STRING)
-- → Select ID KEY, K2 KEY, V
-- →   Join (INNER) on A.ID = M.K1 AND X = K2; repartition of the left side by the join key
-- →     Select ID KEY, ID, X, V
-- →       Read STREAM A from topic a (key JSON, value JSON)
-- →     Select K1 KEY, K2 KEY, K1, K2
-- →       Read TABLE M from topic m (key JSON, value JSON)

CREATE STREAM o AS SELECT * FROM pairs p JOIN m ON p.k1 = m.k1 AND p.k2 = m.k2;
-- → STREAM (P_K1 INTEGER KEY, P_K2 INTEGER KEY, P_V STRING, M_K1 INTEGER, M_K2 INTEGER, M_NAME STRING)
-- → Select P.K1 AS P_K1 KEY, P.K2 AS P_K2 KEY, P.V AS P_V, M.K1 AS M_K1, M.K2 AS M_K2, M.NAME AS M_NAME
-- →   Join (INNER) on P.K1 = M.K1 AND P.K2 = M.K2
-- →     Select K1 KEY, K2 KEY, K1, K2, V
-- →       Read STREAM PAIRS from topic m (key JSON, value JSON)
-- →     Select K1 KEY, K2 KEY, K1, K2, NAME
-- →       Read TABLE M from topic m (key JSON, value JSON)

CREATE STREAM o AS SELECT p.k1, p.k2, s.v FROM pairs p JOIN swapped s ON p.k1 = s.k1 AND p.k2 = s.k2;
-- → STREAM (P_K2 INTEGER KEY, P_K1 INTEGER KEY, S_V STRING)
-- → Select P.K2 AS P_K2 KEY, P.K1 AS P_K1 KEY, S.V AS S_V
-- →   Join (INNER) on P.K1 = S.K1 AND P.K2 = S.K2; repartition of the left side by the join key
-- →     Select K1 KEY, K2 KEY, K1, K2, V
-- →       Read STREAM PAIRS from topic m (key JSON, value JSON)
-- →     Select K2 KEY, K1 KEY, K2, K1, V
-- →       Read TABLE SWAPPED from topic m (key JSON, value JSON)

CREATE TABLE o AS SELECT m.k1, m.k2, name, s.v FROM m JOIN swapped s ON m.k1 = s.k1 AND m.k2 = s.k2;
-- → TABLE (M_K2 INTEGER KEY, M_K1 INTEGER KEY, NAME STRING, V STRING)
-- → Select M.K2 AS M_K2 KEY, M.K1 AS M_K1 KEY, NAME, V
-- →   Join (INNER) on M.K1 = S.K1 AND M.K2 = S.K2; repartition of the left side by the join key
-- →     Select K1 KEY, K2 KEY, K1, K2, NAME
-- →       Read TABLE M from topic m (key JSON, value JSON)
-- →     Select K2 KEY, K1 KEY, K2, K1, V
-- →       Read TABLE SWAPPED from topic m (key JSON, value JSON)

CREATE TABLE o AS SELECT ROWKEY, ROWKEY_1, name, s.v FROM m FULL JOIN swapped s ON m.k1 = s.k1 AND m.k2 = s.k2;
-- → TABLE (ROWKEY INTEGER KEY, ROWKEY_1 INTEGER KEY, NAME STRING, V STRING)
-- → Select ROWKEY KEY, ROWKEY_1 KEY, NAME, V
-- →   Join (FULL OUTER) on M.K1 = S.K1 AND M.K2 = S.K2; repartition of the left side by the join key
-- →     Select K1 KEY, K2 KEY, K1, K2, NAME
-- →       Read TABLE M from topic m (key JSON, value JSON)
-- →     Select K2 KEY, K1 KEY, K2, K1, V
-- →       Read TABLE SWAPPED from topic m (key JSON, value JSON)

CREATE TABLE o AS SELECT * FROM m FULL JOIN swapped s ON m.k1 = s.k1 AND m.k2 = s.k2;
-- → TABLE (ROWKEY INTEGER KEY, ROWKEY_1 INTEGER KEY, M_K1 INTEGER, M_K2 INTEGER, M_NAME STRING, S_K2 INTEGER, S_K1 INTEGER, S_V STRING)
-- → Select ROWKEY KEY, ROWKEY_1 KEY, M.K1 AS M_K1, M.K2 AS M_K2, M.NAME AS M_NAME, S.K2 AS S_K2, S.K1 AS S_K1, S.V AS S_V
-- →   Join (FULL OUTER) on M.K1 = S.K1 AND M.K2 = S.K2; repartition of the left side by the join key
-- →     Select K1 KEY, K2 KEY, K1, K2, NAME
-- →       Read TABLE M from topic m (key JSON, value JSON)
-- →     Select K2 KEY, K1 KEY, K2, K1, V
-- →       Read TABLE SWAPPED from topic m (key JSON, value JSON)

CREATE TABLE o AS SELECT ROWKEY, name, s.v FROM m FULL JOIN swapped s ON m.k1 = s.k1 AND m.k2 = s.k2;
-- → line 1:19: Key missing from projection (ie, SELECT). The query used to build O must include the join expression ROWKEY_1 in its projection (eg, SELECT ROWKEY_1...). ROWKEY_1 was added as a synthetic key column because the join criteria did not match any source column. This expression must be included in the projection and may be aliased.

CREATE TABLE o AS SELECT o.id, name FROM ordered o LEFT JOIN m ON o.k1 = m.k1 AND o.k2 = m.k2;
-- → TABLE (ID INTEGER KEY, NAME STRING)
-- → Select ID KEY, NAME
-- →   Look up (LEFT) on O.K1 = M.K1 AND O.K2 = M.K2; repartition of the left side by the join key
-- →     Select ID KEY, ID, K1, K2
-- →       Read TABLE ORDERED from topic t (key JSON, value JSON)
-- →     Select K1 KEY, K2 KEY, K1, K2, NAME
-- →       Read TABLE M from topic m (key JSON, value JSON)

CREATE TABLE o AS SELECT m.k1, m.k2, s.v, o.k1 FROM m JOIN swapped s ON m.k1 = s.k1 AND m.k2 = s.k2 LEFT JOIN ordered o ON m.k1 = o.id;
-- → line 1:101: Invalid join condition: foreign-key table-table joins are not supported as part of n-way joins. Got M.K1 = O.ID.
-- →   hint: a foreign-key join may be the first of the chain

CREATE STREAM o AS SELECT a.id, ROWKEY, b.v FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id AND ABS(a.x) = ABS(b.y);
-- → STREAM (A_ID INTEGER KEY, ROWKEY INTEGER KEY, B_V STRING)
-- → Select A.ID AS A_ID KEY, ROWKEY KEY, B.V AS B_V
-- →   Join (INNER) on A.ID = B.ID AND ABS(A.X) = ABS(B.Y) within 3600000 ms before, 3600000 ms after, grace 86400000 ms; repartition of the left and the right side by the join key
-- →     Select ID KEY, ID, X, V
-- →       Read STREAM A from topic a (key JSON, value JSON)
-- →     Select ID KEY, ID, Y, V
-- →       Read STREAM B from topic b (key JSON, value JSON)

CREATE STREAM o AS SELECT a.id, a.x, b.v, name, s.v AS sv FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id AND a.x = b.y JOIN m ON b.id = m.k1 AND b.y = m.k2 JOIN swapped s ON m.k1 = s.k1 AND a.x = s.k2;
-- → STREAM (X INTEGER KEY, A_ID INTEGER KEY, B_V STRING, NAME STRING, SV STRING)
-- → Select X KEY, A.ID AS A_ID KEY, B.V AS B_V, NAME, S.V AS SV
-- →   Join (INNER) on M.K1 = S.K1 AND A.X = S.K2; repartition of the left side by the join key
-- →     Join (INNER) on B.ID = M.K1 AND B.Y = M.K2; repartition of the left side by the join key
-- →       Join (INNER) on A.ID = B.ID AND A.X = B.Y within 3600000 ms before, 3600000 ms after, grace 86400000 ms; repartition of the left and the right side by the join key
-- →         Select ID KEY, ID, X, V
-- →           Read STREAM A from topic a (key JSON, value JSON)
-- →         Select ID KEY, ID, Y, V
-- →           Read STREAM B from topic b (key JSON, value JSON)
-- →       Select K1 KEY, K2 KEY, K1, K2, NAME
-- →         Read TABLE M from topic m (key JSON, value JSON)
-- →     Select K2 KEY, K1 KEY, K2, K1, V
-- →       Read TABLE SWAPPED from topic m (key JSON, value JSON)

CREATE STREAM o AS SELECT a.id, b.v, u.name FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id AND a.x = b.y JOIN u ON a.id = u.id;
-- → STREAM (A_ID INTEGER KEY, B_V STRING, NAME STRING)
-- → Select A.ID AS A_ID KEY, B.V AS B_V, NAME
-- →   Join (INNER) on A.ID = U.ID; repartition of the left side by the join key
-- →     Join (INNER) on A.ID = B.ID AND A.X = B.Y within 3600000 ms before, 3600000 ms after, grace 86400000 ms; repartition of the left and the right side by the join key
-- →       Select ID KEY, ID, X, V
-- →         Read STREAM A from topic a (key JSON, value JSON)
-- →       Select ID KEY, ID, Y, V
-- →         Read STREAM B from topic b (key JSON, value JSON)
-- →     Select ID KEY, ID, NAME
-- →       Read TABLE U from topic u (key JSON, value JSON)

CREATE STREAM o AS SELECT p.k1, p.k2, a.v FROM visits p JOIN stays a WITHIN 1 HOUR ON p.k1 = a.k1;
-- → line 1:57: Implicit repartitioning of windowed sources is not supported.
-- →   hint: join them on their keys, of equal windows

CREATE STREAM o AS SELECT * FROM visits p JOIN stays s WITHIN 1 HOUR ON p.k1 = s.k1 AND p.k2 = s.k2;
-- → line 1:43: Implicit repartitioning of windowed sources is not supported.
-- →   hint: join them on their keys, of equal windows

CREATE STREAM o AS SELECT a.id, name FROM a JOIN m ON a.id = m.k1;
-- → line 1:45: Invalid join condition: stream-table joins require to join on the table's primary key. Got A.ID = M.K1.
-- →   hint: its key has several columns: ON … = M.K1 AND … = M.K2

CREATE TABLE o AS SELECT t.id, m.name FROM t JOIN m ON t.id = m.k1;
-- → line 1:46: Invalid join condition: table-table joins require to join on the primary key of the right input table. Got T.ID = M.K1.
-- →   hint: its key has several columns: ON … = M.K1 AND … = M.K2

CREATE STREAM o AS SELECT a.id, b.v FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id AND a.x = b.y;
-- → line 1:20: Key missing from projection (ie, SELECT). The query used to build O must include the join expressions A.X or B.Y in its projection (eg, SELECT A.X...).

CREATE STREAM o AS SELECT a.id, b.v FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id AND a.id = b.id;
-- → line 1:68: Invalid join condition: joins on multiple conditions are not yet supported. Got A.ID = B.ID AND A.ID = B.ID.
-- →   hint: compare each column once

CREATE STREAM o AS SELECT a.id, b.v FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id AND a.id = b.y;
-- → line 1:68: Invalid join condition: joins on multiple conditions are not yet supported. Got A.ID = B.ID AND A.ID = B.Y.
-- →   hint: compare each column once

CREATE STREAM o AS SELECT a.id, b.v FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id OR a.x = b.y;
-- → line 1:68: Invalid join condition: joins on multiple conditions are not yet supported. Got A.ID = B.ID OR A.X = B.Y.
-- →   hint: ON a.id = b.id AND a.day = b.day; other conditions are put into WHERE

CREATE STREAM o AS SELECT a.id, b.v FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id AND a.x > 5;
-- → line 1:68: Invalid join condition: joins on multiple conditions are not yet supported. Got A.ID = B.ID AND A.X > 5.
-- →   hint: ON a.id = b.id AND a.day = b.day; other conditions are put into WHERE

CREATE STREAM o AS SELECT a.id, b.v FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id AND a.x = 5;
-- → line 1:90: Invalid comparison expression '5' in join '(A.X = 5)'. Each side of the join comparision must contain references from exactly one source.

CREATE STREAM o AS SELECT a.id, b.v FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id AND a.v = b.y;
-- → line 1:84: Invalid join condition: types don't match. Got A.V{STRING} = B.Y{INTEGER}.
-- →   hint: CAST one to the other's type

CREATE STREAM o AS SELECT a.id, a.x, b.v FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id AND a.x = b.y GROUP BY a.id;
-- → line 1:20: GROUP BY requires aggregate functions in either the SELECT or HAVING clause.
-- →   hint: e.g. COUNT(*)

CREATE TABLE o AS SELECT a.id, a.x, COUNT(*) AS n FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id AND a.x = b.y GROUP BY a.id, a.x;
-- → TABLE (A_ID INTEGER KEY, X INTEGER KEY, N BIGINT)
-- → Select A.ID AS A_ID KEY, X KEY, COUNT(*) AS N
-- →   Group by A.ID, A.X: COUNT(*)
-- →     Join (INNER) on A.ID = B.ID AND A.X = B.Y within 3600000 ms before, 3600000 ms after, grace 86400000 ms; repartition of the left and the right side by the join key
-- →       Select ID KEY, ID, X
-- →         Read STREAM A from topic a (key JSON, value JSON)
-- →       Select ID KEY, ID, Y
-- →         Read STREAM B from topic b (key JSON, value JSON)

CREATE STREAM o WITH (key_format='KAFKA') AS SELECT a.id, a.x, b.v FROM a JOIN b WITHIN 1 HOUR ON a.id = b.id AND a.x = b.y;
-- → line 1:23: Key format does not support schema: The 'KAFKA' format only supports a single field. Got: [A_ID INTEGER, X INTEGER]
-- →   hint: KEY_FORMAT may be AVRO, DELIMITED, JSON, JSON_SR, PROTOBUF, PROTOBUF_NOSR

CREATE STREAM o AS SELECT d.id, d.v, y FROM d JOIN b WITHIN 1 HOUR ON d.id = b.id AND d.v = b.v;
-- → line 1:1: Key format does not support schema: The 'KAFKA' format only supports a single field. Got: [D_ID INTEGER, D_V STRING]
-- →   hint: KEY_FORMAT may be AVRO, DELIMITED, JSON, JSON_SR, PROTOBUF, PROTOBUF_NOSR

CREATE STREAM o AS SELECT p_k1, s_v FROM (SELECT p.k1, p.k2, s.v FROM pairs p JOIN swapped s ON p.k1 = s.k1 AND p.k2 = s.k2);
-- → line 1:20: The query used to build O must include the key columns P_K2 and P_K1 in its projection.
-- →   hint: SELECT P_K2, P_K1, …

SELECT a.id, name FROM a JOIN m ON a.id = m.k1 AND x = k2 EMIT CHANGES;
-- → Answer ID, NAME
-- →   Join (INNER) on A.ID = M.K1 AND X = K2; repartition of the left side by the join key
-- →     Select ID KEY, ID, X
-- →       Read STREAM A from topic a (key JSON, value JSON)
-- →     Select K1 KEY, K2 KEY, K1, K2, NAME
-- →       Read TABLE M from topic m (key JSON, value JSON)

CREATE TABLE o AS SELECT l.k1, l.k2, u.name AS name, m.name AS other FROM links l JOIN u ON l.u_id = u.id JOIN m ON l.k1 = m.k1 AND l.k2 = m.k2;
-- → TABLE (L_K1 INTEGER KEY, L_K2 INTEGER KEY, NAME STRING, OTHER STRING)
-- → Select L.K1 AS L_K1 KEY, L.K2 AS L_K2 KEY, NAME, M.NAME AS OTHER
-- →   Join (INNER) on L.K1 = M.K1 AND L.K2 = M.K2
-- →     Look up (INNER) on L.U_ID = U.ID; repartition of the left side by the join key
-- →       Select K1 KEY, K2 KEY, K1, K2, U_ID
-- →         Read TABLE LINKS from topic m (key JSON, value JSON)
-- →       Select ID KEY, ID, NAME
-- →         Read TABLE U from topic u (key JSON, value JSON)
-- →     Select K1 KEY, K2 KEY, K1, K2, NAME
-- →       Read TABLE M from topic m (key JSON, value JSON)
