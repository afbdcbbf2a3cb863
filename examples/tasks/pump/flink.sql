-- A query of Flink SQL over `readings(time, pump, kilowatt, litres)`, which has a watermark on `time`. flink.py beside it runs it.
SELECT * FROM readings MATCH_RECOGNIZE (
  PARTITION BY pump
  ORDER BY `time`
  MEASURES
    FIRST(idle.`time`) + INTERVAL '3' MINUTE AS begins,
    LAST(idle.`time`) + INTERVAL '01:09' MINUTE TO SECOND AS ends
  AFTER MATCH SKIP TO LAST other
  PATTERN (idle+ other)
  DEFINE
    idle AS kilowatt > 1 AND litres < 2 AND
      (LAST(idle.`time`, 1) IS NULL OR `time` <= LAST(idle.`time`, 1) + INTERVAL '01:10' MINUTE TO SECOND),
    other AS LAST(idle.`time`) >= FIRST(idle.`time`) + INTERVAL '01:51' MINUTE TO SECOND AND
      NOT (kilowatt > 1 AND litres < 2 AND `time` <= LAST(idle.`time`) + INTERVAL '01:10' MINUTE TO SECOND)
)
