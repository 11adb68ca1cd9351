SELECT id, b FROM many WHERE b = true;
-- → 1, True
-- → -5, True

SELECT id, i FROM many WHERE i = 1;
-- → 1, 1
-- → 7, 1
-- → 8, 1
-- → 10, 1
-- → 12, 1
-- → 13, 1
-- → 15, 1
-- → -5, 1
-- → -1, 1

SELECT id, i FROM many WHERE i = 1.0;
-- → 1, 1
-- → 7, 1
-- → 8, 1
-- → 10, 1
-- → 12, 1
-- → 13, 1
-- → 15, 1
-- → -5, 1
-- → -1, 1

SELECT id, i FROM many WHERE i = 1.5;
-- → no rows

SELECT id, i FROM many WHERE i IN (1, 2, -1) AND id > 1;
-- → 2, -1
-- → 7, 1
-- → 8, 1
-- → 10, 1
-- → 11, 2
-- → 12, 1
-- → 13, 1
-- → 15, 1

SELECT id, i FROM many WHERE i = -1 OR i = 2147483647 OR i = 5000000000;
-- → 2, -1
-- → 3, 2147483647

SELECT id, i FROM many WHERE i <= -1;
-- → 2, -1
-- → 4, -2147483648

SELECT id, i FROM many WHERE i > 1.5;
-- → 3, 2147483647
-- → 11, 2

SELECT id, i FROM many WHERE i BETWEEN 0 AND 1E0 LIMIT 3;
-- → 1, 1
-- → 7, 1
-- → 8, 1

SELECT id, i FROM many WHERE i > 2147483647;
-- → no rows

SELECT id, i FROM many WHERE i < 5000000000 AND i >= 2;
-- → 3, 2147483647
-- → 11, 2

SELECT id, l FROM many WHERE l = 9007199254740993;
-- → 2, 9007199254740993

SELECT id, l FROM many WHERE l >= 9007199254740992;
-- → 2, 9007199254740993
-- → 3, 9007199254740992

SELECT id, l FROM many WHERE l = -9223372036854775808;
-- → 4, -9223372036854775808

SELECT id, d FROM many WHERE d = 0;
-- → 2, -0.0
-- → 3, 0.0

SELECT id, d FROM many WHERE d = -0.0;
-- → 2, -0.0
-- → 3, 0.0

SELECT id, d FROM many WHERE d = 1.5;
-- → 1, 1.5
-- → 8, 1.5

SELECT id, d FROM many WHERE d = CAST('NaN' AS DOUBLE);
-- → no rows

SELECT id, d FROM many WHERE d > 1;
-- → 1, 1.5
-- → 8, 1.5
-- → 14, Infinity
-- → -5, 2.0
-- → -1, 2.0

SELECT id, d FROM many WHERE d <= 0;
-- → 2, -0.0
-- → 3, 0.0
-- → 4, -1e+300

SELECT id, d FROM many WHERE d < CAST('Infinity' AS DOUBLE);
-- → 1, 1.5
-- → 2, -0.0
-- → 3, 0.0
-- → 4, -1e+300
-- → 8, 1.5
-- → 15, 1.0
-- → -5, 2.0
-- → -1, 2.0

SELECT id, d FROM many WHERE d > CAST('NaN' AS DOUBLE);
-- → no rows

SELECT id, e FROM many WHERE e = 1.25;
-- → 1, 1.25
-- → 7, 1.25
-- → 8, 1.25

SELECT id, e FROM many WHERE e = 1.250;
-- → 1, 1.25
-- → 7, 1.25
-- → 8, 1.25

SELECT id, e FROM many WHERE e = 1.251;
-- → no rows

SELECT id, e FROM many WHERE e > 1.249 AND e < 10000;
-- → 1, 1.25
-- → 3, 9999.99
-- → 7, 1.25
-- → 8, 1.25

SELECT id, e FROM many WHERE e <= 0;
-- → 2, -1.25
-- → 4, 0.00

SELECT id, t FROM many WHERE t = 'a';
-- → 1, a
-- → 8, a
-- → -5, a
-- → -1, a

SELECT id, t FROM many WHERE t = '';
-- → 14, 

SELECT id, t FROM many WHERE t = '1';
-- → 7, 1

SELECT id, t FROM many WHERE t > 'x';
-- → 3, 
-- → 4, 😀
-- → 12, xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxa
-- → 13, xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxb

SELECT id FROM many WHERE t >= 'xx' AND t < 'y';
-- → 12
-- → 13

SELECT id, t FROM many WHERE t > '😀';
-- → 3, 

SELECT id, t FROM many WHERE t < '😀' AND t > 'y';
-- → no rows

SELECT id FROM many WHERE t = LPAD('a', 201, 'x');
-- → 12

SELECT id FROM many WHERE t > LPAD('a', 201, 'x');
-- → 3
-- → 4
-- → 13

SELECT id, y FROM many WHERE y = TO_BYTES('AQI=', 'base64');
-- → 10, AQI=
-- → 19, AQI=

SELECT id, y FROM many WHERE y >= TO_BYTES('', 'utf8');
-- → 10, AQI=
-- → 11, 
-- → 17, gA==
-- → 18, /w==
-- → 19, AQI=
-- → 20, AYA=

SELECT id, y FROM many WHERE y > TO_BYTES('AYA=', 'base64');
-- → 10, AQI=
-- → 19, AQI=

SELECT id, y FROM many WHERE y BETWEEN TO_BYTES('80', 'hex') AND TO_BYTES('ff', 'hex');
-- → 17, gA==
-- → 18, /w==

SELECT id, y FROM many WHERE y BETWEEN TO_BYTES('ff', 'hex') AND TO_BYTES('0180', 'hex');
-- → 18, /w==
-- → 20, AYA=

SELECT id, da FROM many WHERE da = '1970-01-01';
-- → 10, 0

SELECT id, da FROM many WHERE da < '1970-01-01';
-- → 11, -1

SELECT id, ti FROM many WHERE ti >= '00:00:01';
-- → 10, 1000

SELECT id, ts FROM many WHERE ts = '2020-01-01T00:00:00';
-- → 10, 1577836800000

SELECT id, ts FROM many WHERE ts > '1960-01-01T00:00:00' AND ts < '1970-01-01T00:00:00';
-- → 11, -1

SELECT id, arr FROM many WHERE arr = ARRAY[1E0, 2E0];
-- → 1, [1.0, 2.0]

SELECT id, arr FROM many WHERE arr = ARRAY[0E0];
-- → 14, [-0.0]

SELECT id, s FROM many WHERE s = STRUCT(a := 1, b := 'x');
-- → 1, {'A': 1, 'B': 'x'}

SELECT id, s FROM many WHERE s = STRUCT(a := 1, b := CAST(NULL AS STRING));
-- → 2, {'A': 1, 'B': None}

SELECT id, m FROM many WHERE m = MAP('l' := 2, 'k' := 1);
-- → 1, {'k': 1, 'l': 2}
-- → 13, {'l': 2, 'k': 1}

SELECT id, i, t FROM many WHERE t = 'a' AND i = 1;
-- → 1, 1, a
-- → 8, 1, a
-- → -5, 1, a
-- → -1, 1, a

SELECT id, i, t FROM many WHERE t IN ('a', 'b') AND i IN (1, 2, -1) AND d > 1;
-- → 1, 1, a
-- → 8, 1, a
-- → -5, 1, a
-- → -1, 1, a

SELECT id, i, t FROM many WHERE t = 'a' AND i = 1 OR t = 'b' AND i = -1;
-- → 1, 1, a
-- → 2, -1, b
-- → 8, 1, a
-- → -5, 1, a
-- → -1, 1, a

SELECT id FROM many WHERE t = 'a' AND i = 1 AND 1 / (id - 1) > -10;
-- → 8
-- → -5
-- → -1
