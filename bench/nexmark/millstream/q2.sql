-- title: selection
CREATE STREAM answers WITH (kafka_topic='{run}-out', value_format='JSON') AS
  SELECT auction, price FROM bid WHERE auction % 123 = 0;
