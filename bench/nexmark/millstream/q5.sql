-- title: hot items
-- rewritten: a table for the counts, and of each window's counts those that are the greatest (of 100 at most)
-- each: items
-- coalesced: 200
CREATE TABLE counts WITH (kafka_topic='{run}-counts', format='JSON') AS
  SELECT auction AS k, AS_VALUE(auction) AS auction, WINDOWSTART AS starts, COUNT(*) AS num
  FROM bid WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 2 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY auction EMIT FINAL;

CREATE STREAM counted (auction BIGINT, starts BIGINT, num BIGINT)
  WITH (kafka_topic='{run}-counts', value_format='JSON');

CREATE TABLE answers WITH (kafka_topic='{run}-out', format='JSON') AS
  SELECT starts AS k, AS_VALUE(starts) AS starts, TRANSFORM(
    FILTER(TOPK(num, auction, 100), x => x->`sort_col` = MAX(num)), x => STRUCT(auction := x->`col0`, num := x->`sort_col`)
  ) AS items FROM counted GROUP BY starts;
