-- title: local item suggestion
-- rewritten: auctions and persons are tables, joined by a foreign key, as a join of streams needs WITHIN
CREATE TABLE persons (id BIGINT PRIMARY KEY, name STRING, city STRING, state STRING)
  WITH (kafka_topic='{person}', key_format='JSON', value_format='JSON');

CREATE TABLE auctions (id BIGINT PRIMARY KEY, seller BIGINT, category BIGINT)
  WITH (kafka_topic='{auction}', key_format='JSON', value_format='JSON');

CREATE TABLE answers WITH (kafka_topic='{run}-out', format='JSON') AS
  SELECT a.id AS k, p.name AS name, p.city AS city, p.state AS state, AS_VALUE(a.id) AS id
  FROM auctions a JOIN persons p ON a.seller = p.id
  WHERE a.category = 10 AND (p.state = 'OR' OR p.state = 'ID' OR p.state = 'CA');
