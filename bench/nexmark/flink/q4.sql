CREATE TABLE answers (category BIGINT, final DOUBLE, PRIMARY KEY (category) NOT ENFORCED) WITH ({upsert});

INSERT INTO answers SELECT Q.category, AVG(CAST(Q.final AS DOUBLE)) FROM (
  SELECT MAX(B.price) AS final, A.category FROM auction A, bid B
  WHERE A.id = B.auction AND B.`dateTime` BETWEEN A.`dateTime` AND A.expires GROUP BY A.id, A.category
) Q GROUP BY Q.category;
