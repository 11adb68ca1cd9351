-- title: calculation
-- rewritten: lengths with and without the letter instead of the function count_char, in both
CREATE STREAM answers WITH (kafka_topic='{run}-out', value_format='JSON') AS
  SELECT auction, bidder, 0.908 * price AS price, CASE
      WHEN CAST(FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'H') AS INT) BETWEEN 8 AND 18 THEN 'dayTime'
      WHEN CAST(FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'H') AS INT) <= 6
        OR CAST(FORMAT_TIMESTAMP(FROM_UNIXTIME(dateTime), 'H') AS INT) >= 20 THEN 'nightTime'
      ELSE 'otherTime'
    END AS bidTimeType, dateTime, extra, LEN(extra) - LEN(REPLACE(extra, 'c', '')) AS c_counts
  FROM bid WHERE 0.908 * price > 1000000 AND 0.908 * price < 50000000;
