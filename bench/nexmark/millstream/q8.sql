-- title: monitor new users
-- rewritten: one join and the comparison of windows in WHERE, as windowed tables cannot be joined
CREATE TABLE answers WITH (kafka_topic='{run}-out', format='JSON') AS
  SELECT p.id AS k, AS_VALUE(p.id) AS id, LATEST_BY_OFFSET(p.name) AS name, MAX(p.dateTime / 10000 * 10000) AS starttime
  FROM person p JOIN auction a WITHIN 10 SECONDS GRACE PERIOD 1 DAY ON p.id = a.seller
  WHERE p.dateTime / 10000 = a.dateTime / 10000 GROUP BY p.id;
