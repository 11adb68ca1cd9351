-- title: average price for a category
-- rewritten: the join has WITHIN 1 HOUR. Flink: the average is DOUBLE
-- coalesced: 200
CREATE TABLE answers WITH (kafka_topic='{run}-out', format='JSON') AS
  SELECT category AS k, AS_VALUE(category) AS category, AVG(final) AS final FROM (
    SELECT a.id AS id, a.category AS category, MAX(b.price) AS final
    FROM auction a JOIN bid b WITHIN 1 HOUR GRACE PERIOD 1 DAY ON a.id = b.auction
    WHERE b.dateTime BETWEEN a.dateTime AND a.expires GROUP BY a.id, a.category
  ) GROUP BY category;
