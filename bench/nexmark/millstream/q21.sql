-- title: add channel id
CREATE STREAM answers WITH (kafka_topic='{run}-out', value_format='JSON') AS
  SELECT auction, bidder, price, channel, CASE
      WHEN LCASE(channel) = 'apple' THEN '0'
      WHEN LCASE(channel) = 'google' THEN '1'
      WHEN LCASE(channel) = 'facebook' THEN '2'
      WHEN LCASE(channel) = 'baidu' THEN '3'
      ELSE REGEXP_EXTRACT('(&|^)channel_id=([^&]*)', url, 2)
    END AS channel_id
  FROM bid
  WHERE REGEXP_EXTRACT('(&|^)channel_id=([^&]*)', url, 2) IS NOT NULL OR LCASE(channel) IN ('apple', 'google', 'facebook', 'baidu');
