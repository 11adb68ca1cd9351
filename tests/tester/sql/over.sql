--@test: OVER - each row has the row before it, its number and running aggregates
CREATE STREAM bids (id INT KEY, item STRING, price INT) WITH (kafka_topic='bids', value_format='JSON', partitions=1);
CREATE STREAM moves AS
  SELECT id, item, price, LAG(price) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS previous,
    price - LAG(price, 2) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS since,
    ROW_NUMBER() OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n,
    SUM(price) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS total,
    FIRST_VALUE(price) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS first,
    MAX(price) OVER (PARTITION BY 1 ORDER BY ROWOFFSET) AS most
  FROM bids EMIT CHANGES;
INSERT INTO bids (id, item, price) VALUES (1, 'a', 10);
INSERT INTO bids (id, item, price) VALUES (2, 'b', 70);
INSERT INTO bids (id, item, price) VALUES (3, 'a', 12);
INSERT INTO bids (id, item, price) VALUES (4, 'a', NULL);
INSERT INTO bids (id, item, price) VALUES (5, 'a', 15);
INSERT INTO bids (id, item, price) VALUES (6, NULL, 3);
INSERT INTO bids (id, item, price) VALUES (7, NULL, 4);
ASSERT VALUES moves (id, item, price, previous, since, n, total, first, most) VALUES (1, 'a', 10, NULL, NULL, 1, 10, 10, 10);
ASSERT VALUES moves (id, item, price, previous, since, n, total, first, most) VALUES (2, 'b', 70, NULL, NULL, 1, 70, 70, 70);
ASSERT VALUES moves (id, item, price, previous, since, n, total, first, most) VALUES (3, 'a', 12, 10, NULL, 2, 22, 10, 70);
ASSERT VALUES moves (id, item, price, previous, since, n, total, first, most) VALUES (4, 'a', NULL, 12, NULL, 3, 22, 10, 70);
ASSERT VALUES moves (id, item, price, previous, since, n, total, first, most) VALUES (5, 'a', 15, NULL, 3, 4, 37, 10, 70);
ASSERT VALUES moves (id, item, price, previous, since, n, total, first, most) VALUES (6, NULL, 3, NULL, NULL, 1, 3, 3, 70);
ASSERT VALUES moves (id, item, price, previous, since, n, total, first, most) VALUES (7, NULL, 4, 3, NULL, 2, 7, 3, 70);

--@test: OVER - ROWS limits the rows before a row
CREATE STREAM bids (id INT KEY, item STRING, price INT) WITH (kafka_topic='bids', value_format='JSON', partitions=1);
CREATE STREAM means AS
  SELECT id, AVG(price) OVER (PARTITION BY item ORDER BY ROWOFFSET ROWS BETWEEN 1 PRECEDING AND CURRENT ROW) AS mean,
    COUNT(*) FILTER (WHERE price > 10) OVER (PARTITION BY item ORDER BY ROWOFFSET ROWS 2 PRECEDING) AS high,
    COLLECT_LIST(price) OVER (PARTITION BY item ORDER BY ROWOFFSET ROWS 0 PRECEDING) AS own,
    COUNT(*) OVER (PARTITION BY item ORDER BY ROWOFFSET ASC ROWS UNBOUNDED PRECEDING) AS n
  FROM bids EMIT CHANGES;
INSERT INTO bids (id, item, price) VALUES (1, 'a', 10);
INSERT INTO bids (id, item, price) VALUES (2, 'a', 20);
INSERT INTO bids (id, item, price) VALUES (3, 'b', 70);
INSERT INTO bids (id, item, price) VALUES (4, 'a', 40);
INSERT INTO bids (id, item, price) VALUES (5, 'a', 0);
INSERT INTO bids (id, item, price) VALUES (6, 'a', 1);
ASSERT VALUES means (id, mean, high, own, n) VALUES (1, 10.0, 0, ARRAY[10], 1);
ASSERT VALUES means (id, mean, high, own, n) VALUES (2, 15.0, 1, ARRAY[20], 2);
ASSERT VALUES means (id, mean, high, own, n) VALUES (3, 70.0, 1, ARRAY[70], 1);
ASSERT VALUES means (id, mean, high, own, n) VALUES (4, 30.0, 2, ARRAY[40], 3);
ASSERT VALUES means (id, mean, high, own, n) VALUES (5, 20.0, 2, ARRAY[0], 4);
ASSERT VALUES means (id, mean, high, own, n) VALUES (6, 0.5, 1, ARRAY[1], 5);

--@test: OVER - an inner query keeps the first rows of each partition
CREATE STREAM bids (id INT KEY, item STRING, price INT) WITH (kafka_topic='bids', value_format='JSON', partitions=1);
CREATE STREAM first_two AS
  SELECT id, item, price
  FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n FROM bids) WHERE n <= 2 EMIT CHANGES;
CREATE TABLE jumps AS
  SELECT item, COUNT(*) AS n
  FROM (SELECT item, price - LAG(price) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS jump FROM bids)
  WHERE jump > 5 GROUP BY item EMIT CHANGES;
INSERT INTO bids (id, item, price) VALUES (1, 'a', 10);
INSERT INTO bids (id, item, price) VALUES (2, 'a', 20);
INSERT INTO bids (id, item, price) VALUES (3, 'b', 70);
INSERT INTO bids (id, item, price) VALUES (4, 'a', 40);
INSERT INTO bids (id, item, price) VALUES (5, 'b', 71);
ASSERT VALUES first_two (id, item, price) VALUES (1, 'a', 10);
ASSERT VALUES first_two (id, item, price) VALUES (2, 'a', 20);
ASSERT VALUES first_two (id, item, price) VALUES (3, 'b', 70);
ASSERT VALUES first_two (id, item, price) VALUES (5, 'b', 71);
ASSERT VALUES jumps (item, n) VALUES ('a', 1);
ASSERT VALUES jumps (item, n) VALUES ('a', 2);

--@test: OVER - OVER of a join, of elements, and under another key
CREATE STREAM orders (id INT KEY, item STRING, sizes ARRAY<INT>) WITH (kafka_topic='orders', value_format='JSON', partitions=1);
CREATE TABLE items (item STRING PRIMARY KEY, kind STRING) WITH (kafka_topic='items', value_format='JSON', partitions=1);
CREATE STREAM flat AS
  SELECT id, EXPLODE(sizes) AS piece, COUNT(*) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n FROM orders EMIT CHANGES;
CREATE STREAM kinds AS
  SELECT o.item AS item, i.kind AS kind, LAG(o.id) OVER (PARTITION BY i.kind ORDER BY ROWOFFSET) AS previous
  FROM orders o JOIN items i ON o.item = i.item EMIT CHANGES;
CREATE STREAM by_item AS
  SELECT *, COUNT(*) OVER (PARTITION BY item ORDER BY ROWOFFSET) AS n FROM orders PARTITION BY item EMIT CHANGES;
INSERT INTO items (item, kind) VALUES ('a', 'x');
INSERT INTO items (item, kind) VALUES ('b', 'x');
INSERT INTO orders (id, item, sizes) VALUES (1, 'a', ARRAY[1, 2]);
INSERT INTO orders (id, item, sizes) VALUES (2, 'b', ARRAY[3]);
INSERT INTO orders (id, item, sizes) VALUES (3, 'a', ARRAY[4]);
ASSERT VALUES flat (id, piece, n) VALUES (1, 1, 1);
ASSERT VALUES flat (id, piece, n) VALUES (1, 2, 2);
ASSERT VALUES flat (id, piece, n) VALUES (2, 3, 1);
ASSERT VALUES flat (id, piece, n) VALUES (3, 4, 3);
ASSERT VALUES kinds (item, kind, previous) VALUES ('a', 'x', NULL);
ASSERT VALUES kinds (item, kind, previous) VALUES ('b', 'x', 1);
ASSERT VALUES kinds (item, kind, previous) VALUES ('a', 'x', 2);
ASSERT VALUES by_item (item, id, sizes, n) VALUES ('a', 1, ARRAY[1, 2], 1);
ASSERT VALUES by_item (item, id, sizes, n) VALUES ('b', 2, ARRAY[3], 1);
ASSERT VALUES by_item (item, id, sizes, n) VALUES ('a', 3, ARRAY[4], 2);

--@test: OVER - rows without a value, failing arguments, and windowed keys
CREATE STREAM a (id INT KEY, v INT, w INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE STREAM o AS
  SELECT id, SUM(v / w) OVER (PARTITION BY id ORDER BY ROWOFFSET) AS total, COUNT(*) OVER (PARTITION BY id ORDER BY ROWOFFSET) AS n
  FROM a EMIT CHANGES;
CREATE TABLE t WITH (kafka_topic='w') AS SELECT id, COUNT(*) AS n FROM a WINDOW TUMBLING (SIZE 1 DAY) GROUP BY id EMIT CHANGES;
CREATE STREAM windowed (id INT KEY, n BIGINT) WITH (kafka_topic='w', value_format='JSON', window_type='TUMBLING', window_size='1 DAY');
CREATE STREAM p AS
  SELECT id, n - LAG(n) OVER (PARTITION BY id ORDER BY ROWOFFSET) AS more, ROWTIME - WINDOWSTART AS inside FROM windowed EMIT CHANGES;
INSERT INTO a (ROWTIME, id, v, w) VALUES (1, 1, 6, 2);
INSERT INTO a (ROWTIME, id, v, w) VALUES (2, 1, 6, 0);
INSERT INTO a (ROWTIME, id) VALUES (3, 1);
INSERT INTO a (ROWTIME, id, v, w) VALUES (4, 1, 8, 2);
ASSERT VALUES o (id, total, n) VALUES (1, 3, 1);
ASSERT VALUES o (id, total, n) VALUES (1, 3, 2);
ASSERT VALUES o (id, total, n) VALUES (1, 3, 3);
ASSERT VALUES o (id, total, n) VALUES (1, 7, 4);
ASSERT VALUES p (id, windowstart, windowend, more, inside) VALUES (1, 0, 86400000, NULL, 1);
ASSERT VALUES p (id, windowstart, windowend, more, inside) VALUES (1, 0, 86400000, 1, 2);
ASSERT VALUES p (id, windowstart, windowend, more, inside) VALUES (1, 0, 86400000, 1, 3);
ASSERT VALUES p (id, windowstart, windowend, more, inside) VALUES (1, 0, 86400000, 1, 4);

--@test: OVER - in one query with DISTINCT, over a UNION, and values of nested types
CREATE STREAM a (id INT KEY, v ARRAY<STRUCT<x INT>>) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE STREAM b (id INT KEY, v ARRAY<STRUCT<x INT>>) WITH (kafka_topic='b', value_format='JSON', partitions=1);
CREATE STREAM o AS SELECT DISTINCT id, LAG(v) OVER (PARTITION BY id ORDER BY ROWOFFSET) AS previous FROM a EMIT CHANGES;
CREATE STREAM p AS
  SELECT id, COUNT(*) OVER (PARTITION BY id ORDER BY ROWOFFSET) AS n
  FROM (SELECT * FROM a UNION ALL SELECT * FROM b) EMIT CHANGES;
INSERT INTO a (id, v) VALUES (1, ARRAY[STRUCT(x := 1)]);
INSERT INTO a (id, v) VALUES (1, ARRAY[STRUCT(x := 1)]);
INSERT INTO a (id, v) VALUES (1, ARRAY[STRUCT(x := 2)]);
INSERT INTO b (id, v) VALUES (1, ARRAY[STRUCT(x := 2)]);
ASSERT VALUES o (id, previous) VALUES (1, NULL);
ASSERT VALUES o (id, previous) VALUES (1, ARRAY[STRUCT(x := 1)]);
ASSERT VALUES p (id, n) VALUES (1, 1);
ASSERT VALUES p (id, n) VALUES (1, 2);
ASSERT VALUES p (id, n) VALUES (1, 3);
ASSERT VALUES p (id, n) VALUES (1, 4);

--@test: OVER - rows before a STATE_TTL without any are forgotten
CREATE STREAM a (id INT KEY, shop STRING, v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE STREAM o WITH (state_ttl='10 SECONDS') AS
  SELECT id, LAG(v) OVER (PARTITION BY shop ORDER BY ROWOFFSET) AS previous,
    SUM(v) OVER (PARTITION BY shop ORDER BY ROWOFFSET ROWS 1 PRECEDING) AS two
  FROM a EMIT CHANGES;
INSERT INTO a (ROWTIME, id, shop, v) VALUES (0, 1, 's', 1);
INSERT INTO a (ROWTIME, id, shop, v) VALUES (9000, 2, 's', 2);
INSERT INTO a (ROWTIME, id, shop, v) VALUES (10000, 3, 't', 5);
INSERT INTO a (ROWTIME, id, shop, v) VALUES (30000, 4, 't', 6);
INSERT INTO a (ROWTIME, id, shop, v) VALUES (30001, 5, 's', 3);
INSERT INTO a (ROWTIME, id, shop, v) VALUES (30002, 6, 's', 4);
ASSERT VALUES o (id, previous, two) VALUES (1, NULL, 1);
ASSERT VALUES o (id, previous, two) VALUES (2, 1, 3);
ASSERT VALUES o (id, previous, two) VALUES (3, NULL, 5);
ASSERT VALUES o (id, previous, two) VALUES (4, NULL, 6);
ASSERT VALUES o (id, previous, two) VALUES (5, NULL, 3);
ASSERT VALUES o (id, previous, two) VALUES (6, 3, 7);

--@test: OVER - of a stream without a key, and of one without value columns
CREATE STREAM a (v INT) WITH (kafka_topic='a', value_format='JSON', partitions=1);
CREATE STREAM o AS SELECT v, LAG(v) OVER (PARTITION BY 1 ORDER BY ROWOFFSET) AS previous FROM a WHERE v > 0 EMIT CHANGES;
CREATE STREAM p AS SELECT previous, COUNT(*) OVER (PARTITION BY previous ORDER BY ROWOFFSET) AS n FROM o EMIT CHANGES;
CREATE STREAM k (id INT KEY) WITH (kafka_topic='k', value_format='JSON', partitions=1);
CREATE STREAM q AS SELECT id, ROW_NUMBER() OVER (PARTITION BY id ORDER BY ROWOFFSET) AS n FROM k EMIT CHANGES;
INSERT INTO a (v) VALUES (1);
INSERT INTO a (v) VALUES (2);
INSERT INTO a (v) VALUES (0);
INSERT INTO a (v) VALUES (3);
INSERT INTO k (id) VALUES (1);
INSERT INTO k (id) VALUES (1);
ASSERT VALUES o (v, previous) VALUES (1, NULL);
ASSERT VALUES o (v, previous) VALUES (2, 1);
ASSERT VALUES o (v, previous) VALUES (3, 2);
ASSERT VALUES p (previous, n) VALUES (NULL, 1);
ASSERT VALUES p (previous, n) VALUES (1, 1);
ASSERT VALUES p (previous, n) VALUES (2, 1);

--@test: OVER - RANGE takes the rows of a time, also for rows that are late
CREATE STREAM bids (id INT KEY, item STRING, price INT) WITH (kafka_topic='bids', value_format='JSON', partitions=1);
CREATE STREAM sums AS
  SELECT id, SUM(price) OVER (PARTITION BY item ORDER BY ROWTIME RANGE 1 SECOND PRECEDING GRACE PERIOD 1 SECOND) AS total,
    COUNT(*) FILTER (WHERE price > 11) OVER (PARTITION BY item ORDER BY ROWTIME RANGE BETWEEN 2 SECONDS PRECEDING AND CURRENT ROW) AS high,
    FIRST_VALUE(price) OVER (PARTITION BY item ORDER BY ROWTIME RANGE 1 SECOND PRECEDING) AS first,
    COLLECT_LIST(price) OVER (PARTITION BY 1 ORDER BY ROWTIME RANGE 0 SECONDS PRECEDING) AS now
  FROM bids EMIT CHANGES;
INSERT INTO bids (ROWTIME, id, item, price) VALUES (1000, 1, 'a', 10);
INSERT INTO bids (ROWTIME, id, item, price) VALUES (2000, 2, 'a', 12);
INSERT INTO bids (ROWTIME, id, item, price) VALUES (2000, 3, 'b', 7);
INSERT INTO bids (ROWTIME, id, item, price) VALUES (3000, 4, 'a', 70);
INSERT INTO bids (ROWTIME, id, item, price) VALUES (1500, 5, 'a', 15);
INSERT INTO bids (ROWTIME, id, item, price) VALUES (4000, 6, 'a', 20);
INSERT INTO bids (ROWTIME, id, item, price) VALUES (90000, 7, 'b', 8);
INSERT INTO bids (ROWTIME, id, item, price) VALUES (1000, 8, 'a', 9);
INSERT INTO bids (ROWTIME, id, item, price) VALUES (90500, 9, 'b', 5);
ASSERT VALUES sums (ROWTIME, id, total, high, first, now) VALUES (1000, 1, 10, 0, 10, ARRAY[10]);
ASSERT VALUES sums (ROWTIME, id, total, high, first, now) VALUES (2000, 2, 22, 1, 10, ARRAY[12]);
ASSERT VALUES sums (ROWTIME, id, total, high, first, now) VALUES (2000, 3, 7, 0, 7, ARRAY[12, 7]);
ASSERT VALUES sums (ROWTIME, id, total, high, first, now) VALUES (3000, 4, 82, 2, 12, ARRAY[70]);
ASSERT VALUES sums (ROWTIME, id, total, high, first, now) VALUES (1500, 5, 25, 1, 10, ARRAY[15]);
ASSERT VALUES sums (ROWTIME, id, total, high, first, now) VALUES (4000, 6, 90, 3, 70, ARRAY[20]);
ASSERT VALUES sums (ROWTIME, id, total, high, first, now) VALUES (90000, 7, 8, 0, 8, ARRAY[8]);
ASSERT VALUES sums (ROWTIME, id, total, high, first, now) VALUES (1000, 8, 9, 0, 9, ARRAY[9]);
ASSERT VALUES sums (ROWTIME, id, total, high, first, now) VALUES (90500, 9, 13, 0, 8, ARRAY[5]);
