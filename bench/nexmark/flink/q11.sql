CREATE TABLE answers (bidder BIGINT, bid_count BIGINT, starttime BIGINT, endtime BIGINT) WITH ({append});

INSERT INTO answers SELECT bidder, COUNT(*), MIN(`dateTime`), MAX(`dateTime`) + 10000
FROM TABLE(SESSION(TABLE bid PARTITION BY bidder, DESCRIPTOR(ts), INTERVAL '10' SECOND))
GROUP BY bidder, window_start, window_end;
