SELECT * FROM orders ORDER BY amount DESC LIMIT 3;
-- → 11, 3, 12.5, '😀', 2.75, '/w=='
-- → 10, NULL, 11.0, '\ue000', 2.50, 'fw=='
-- → 9, 1, 9.5, 'b', 2.25, ''

SELECT id, price * 2 AS double, id / 2 AS half FROM orders ORDER BY id DESC LIMIT 2 OFFSET 1;
-- → 10, 5.00, 5
-- → 9, 4.50, 4

SELECT COUNT(*), SUM(amount) AS s, SUM(price) AS p, AVG(CAST(price AS DOUBLE)) AS a, COUNT(DISTINCT item) AS d, MIN(item) AS m FROM orders;
-- → 12, 51.0, 16.50, 1.375, 4, 'a'

SELECT COUNT(*) AS n, SUM(amount) AS s, MAX(price) AS m, AVG(amount) AS a FROM orders WHERE id > 1000;
-- → 0, 0.0, NULL, 0.0

SELECT item, COUNT(*) AS n FROM orders GROUP BY item ORDER BY item;
-- → 'a', 3
-- → 'b', 3
-- → '😀', 3
-- → '\ue000', 3

SELECT item FROM orders WHERE item > 'b' AND id < 4 ORDER BY item DESC;
-- → '\ue000'
-- → '😀'

SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer ORDER BY customer;
-- → 0, 2
-- → 1, 2
-- → 2, 2
-- → 3, 3

SELECT customer, COLLECT_SET(item) AS l, SUM(DISTINCT price) AS p, HISTOGRAM(item) AS h FROM orders WHERE id < 6 GROUP BY customer ORDER BY customer;
-- → 0, ['a'], 1.00, {'a': 1}
-- → 1, ['b'], 0.25, {'b': 1}
-- → 2, ['\ue000'], 0.50, {'\ue000': 1}
-- → 3, ['😀'], 0.75, {'😀': 1}

SELECT DISTINCT customer FROM orders ORDER BY customer;
-- → 0
-- → 1
-- → 2
-- → 3
-- → NULL

SELECT DISTINCT customer FROM orders ORDER BY customer DESC;
-- → NULL
-- → 3
-- → 2
-- → 1
-- → 0

SELECT c.name, SUM(o.amount) AS total FROM orders o JOIN customers c ON o.customer = c.id WHERE o.amount > 1 GROUP BY c.name HAVING COUNT(*) > 1 ORDER BY total DESC;
-- → 'n3', 19.0

SELECT c.name, o.id FROM orders o FULL JOIN customers c ON o.customer = c.id ORDER BY c.name NULLS FIRST, 2 DESC;
-- → NULL, 10
-- → NULL, 8
-- → NULL, 5
-- → NULL, 4
-- → NULL, 0
-- → 'n1', 9
-- → 'n1', 1
-- → 'n2', 6
-- → 'n2', 2
-- → 'n3', 11
-- → 'n3', 7
-- → 'n3', 3
-- → 'n4', NULL

SELECT * FROM orders o JOIN customers c ON o.customer = c.id ORDER BY o.id LIMIT 2;
-- → 1, 1, -2.5, 'b', 0.25, '', 1, 'n1'
-- → 2, 2, -1.0, '\ue000', 0.50, 'fw==', 2, 'n2'

SELECT c.* FROM customers c LEFT JOIN orders o ON o.customer = c.id WHERE o.id IS NULL;
-- → 4, 'n4'

SELECT o.id, c.id FROM orders o JOIN customers c ON o.id = c.id + 0.0 ORDER BY 1;
-- → 1, 1
-- → 2, 2
-- → 3, 3
-- → 4, 4

SELECT id FROM orders WHERE NOT (customer = 1) ORDER BY id;
-- → 0
-- → 2
-- → 3
-- → 4
-- → 5
-- → 6
-- → 7
-- → 8
-- → 10
-- → 11

SELECT amount / 0 AS x, id / 0 AS y FROM orders ORDER BY id LIMIT 1;
-- → '-Infinity', NULL

SELECT ROWTIME, id FROM orders ORDER BY ROWTIME DESC LIMIT 1;
-- → 1011, 11

SELECT MAX() AS latest FROM orders;
-- → 1011

SELECT id FROM orders WHERE id > 9 UNION ALL SELECT id FROM customers ORDER BY id;
-- → 1
-- → 2
-- → 3
-- → 4
-- → 10
-- → 11

SELECT item, id FROM orders WHERE id < 2 UNION SELECT name, id FROM customers WHERE id < 3;
-- → 'a', 0
-- → 'b', 1
-- → 'n1', 1
-- → 'n2', 2

SELECT q.n, COUNT(*) AS c FROM (SELECT customer, COUNT(*) AS n FROM orders GROUP BY customer) q GROUP BY q.n ORDER BY c;
-- → 3, 1
-- → 2, 3

WITH q AS (SELECT customer, SUM(price) AS p FROM orders GROUP BY customer), top AS (SELECT MAX(p) AS p FROM q) SELECT customer FROM q JOIN top ON q.p = top.p;
-- → 3

SELECT UCASE(item) AS u, COUNT(*) AS n FROM orders WHERE item IN ('a', 'b') GROUP BY UCASE(item) ORDER BY u;
-- → 'A', 3
-- → 'B', 3

SELECT CAST(item AS INT) AS i FROM orders WHERE id = 0 ORDER BY i;
-- → NULL

SELECT TOPK(amount, 2) AS t FROM orders;
-- → [12.5, 11.0]

SELECT COUNT(DISTINCT UCASE(item)) AS u, COUNT(DISTINCT customer) AS c FROM orders;
-- → 4, 4

SELECT COUNT_DISTINCT(item) AS n FROM orders;
-- → 4

SELECT seal, COUNT(*) AS n FROM orders GROUP BY seal ORDER BY seal;
-- → '', 3
-- → 'gA==', 3
-- → '/w==', 3
-- → 'fw==', 3

SELECT MIN(seal) AS least, MAX(seal) AS greatest FROM orders WHERE seal > CAST('' AS BYTES);
-- → 'gA==', 'fw=='
