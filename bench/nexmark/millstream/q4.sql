-- title: average price for a category
-- rewritten: a table for the inner query; the join has WITHIN 1 HOUR. Flink: the average is DOUBLE
CREATE TABLE finals WITH (kafka_topic='{run}-finals', format='JSON') AS
  SELECT a.id AS id, a.category AS category, MAX(b.price) AS final
  FROM auction a JOIN bid b WITHIN 1 HOUR GRACE PERIOD 1 DAY ON a.id = b.auction
  WHERE b.dateTime BETWEEN a.dateTime AND a.expires GROUP BY a.id, a.category;

CREATE TABLE answers WITH (kafka_topic='{run}-out', format='JSON') AS
  SELECT category AS k, AS_VALUE(category) AS category, AVG(final) AS final FROM finals GROUP BY category;
