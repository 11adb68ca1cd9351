-- title: hot items
-- rewritten: of each window's counts those that are the greatest (of 100 at most), instead of a join with the maximum
-- each: items
-- coalesced: 200
CREATE TABLE answers WITH (kafka_topic='{run}-out', format='JSON') AS
  SELECT WINDOWSTART AS k, AS_VALUE(WINDOWSTART) AS starts, TRANSFORM(
    FILTER(TOPK(num, auction, 100), x => x->`sort_col` = MAX(num)), x => STRUCT(auction := x->`col0`, num := x->`sort_col`)
  ) AS items
  FROM (SELECT auction, COUNT(*) AS num
    FROM bid WINDOW HOPPING (SIZE 10 SECONDS, ADVANCE BY 2 SECONDS, GRACE PERIOD 0 SECONDS) GROUP BY auction EMIT FINAL)
  GROUP BY WINDOWSTART;
