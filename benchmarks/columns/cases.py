"""The programs, and what says the same in SQL: the maximal intervals of each answer, `hi` null where one has no end.

The SQL is that of DuckDB, over a table of the history's name; it keeps to what SQLite knows, too.
"""

from __future__ import annotations

from dataclasses import dataclass

from benchmarks.columns.drawn import DELAY

_HEAD = "timeline integer. "
_TEMP = _HEAD + "input temp(r: text, v: number). "
_DURATION = _TEMP + "hot(R) :- temp(R, V), V >= 80. alarm(R) :- boxminus[0,300] diamondminus[0,60] hot(R). output alarm."


def _runs(name: str, where: str, reach: int) -> str:
    """Common table expressions: the maximal runs of what holds so long behind each reading of a kind."""
    return f"""{name}_marked as (select r, time, case when time - lag(time) over own <= {reach + 1} then 0 else 1 end
as fresh from temp where {where} window own as (partition by r order by time)),
{name}_numbered as (select r, time, sum(fresh) over (partition by r order by time) as run from {name}_marked),
{name} as (select r, min(time) as lo, max(time) + {reach} as hi from {name}_numbered group by r, run)"""  # noqa: S608 - from what stands in this module


@dataclass(frozen=True, slots=True)
class Case:
    """A program over a kind of history; `sql` is None where SQL does not say the same without many words."""

    name: str
    program: str
    history: str = "temp"
    lateness: int = 0
    sql: str | None = None
    has_target: bool = True

    @property
    def predicate(self) -> str:
        """That of the history's facts."""
        return "edge" if self.history == "edge" else "temp"


_SQL_DURATION = f"""with {_runs("hot", "v >= 80", 60)}
select r, lo + 300 as lo, hi from hot where lo + 300 <= hi"""  # noqa: S608 - from what stands in this module
_SQL_ABSENCE = """select r, time + 121 as lo, time + 121 as hi
from (select r, time, lead(time) over (partition by r order by time) as next from temp)
where next is null or next > time + 121"""
_SQL_JOIN = f"""with {_runs("high", "v >= 90", 300)}, {_runs("low", "v < 70", 300)}
select high.r, case when high.lo > low.lo then high.lo else low.lo end as lo,
case when high.hi < low.hi then high.hi else low.hi end as hi
from high join low on high.r = low.r and high.lo <= low.hi and low.lo <= high.hi"""  # noqa: S608 - from what stands in this module
_SQL_HYSTERESIS = """select r, min(time) as lo, next as hi from (select r, time, v,
min(case when v < 70 then time end) over (partition by r order by time rows between 1 following and unbounded following)
as next from temp) where v >= 90 group by r, next"""
_SQL_HOURLY = """select r, avg(v) as a, due as lo, due + 3599 as hi from (
select r, v, time + (3600 - time % 3600) % 3600 as due from temp union all
select r, v, time + 3600 as due from temp where time % 3600 = 0) group by r, due"""

CASES = (
    Case("duration", _DURATION, sql=_SQL_DURATION),
    Case(
        "absence",
        _TEMP + "seen(R) :- temp(R, _). "
        "alarm(R) :- diamondminus[121,121] seen(R), not diamondminus[0,120] seen(R). output alarm.",
        sql=_SQL_ABSENCE,
    ),
    Case(
        "join",
        _TEMP + "high(R) :- temp(R, V), V >= 90. low(R) :- temp(R, V), V < 70. "
        "alarm(R) :- diamondminus[0,300] high(R), diamondminus[0,300] low(R). output alarm.",
        sql=_SQL_JOIN,
    ),
    Case(
        "hysteresis",
        _TEMP
        + "on(R) :- temp(R, V), V >= 90. off(R) :- temp(R, V), V < 70. alarm(R) :- not off(R) since on(R). output alarm.",
        sql=_SQL_HYSTERESIS,
    ),
    Case(
        "hourly mean",
        _TEMP + "m(R, A) :- A = avg(V) over temp(R, V) in [3600 step 3600] by R. output m.",
        sql=_SQL_HOURLY,
    ),
    Case("disorder", _DURATION, history="late", lateness=DELAY, sql=_SQL_DURATION, has_target=False),
    Case(
        "reachability",
        _HEAD + "input edge(x: text, y: text). near(X, Y) :- diamondminus[0,60] edge(X, Y). reach(X, Y) :- near(X, Y). "
        "reach(X, Z) :- reach(X, Y), near(Y, Z). output reach.",
        history="edge",
        has_target=False,
    ),
)
LARGE = Case(
    "three rules",
    _TEMP + "hot(R) :- temp(R, V), V >= 90. alarm(R) :- boxminus[0,300] diamondminus[0,60] hot(R). "
    "seen(R) :- temp(R, _). gone(R) :- diamondminus[121,121] seen(R), not diamondminus[0,120] seen(R). "
    "cold(R) :- temp(R, V), V < 60. mixed(R) :- diamondminus[0,300] hot(R), diamondminus[0,300] cold(R). "
    "output alarm, gone, mixed.",
)
SWEPT = _TEMP + (
    "parameter LIMIT = 100. hot(R) :- temp(R, V), V >= LIMIT. "
    "alarm(R) :- boxminus[0,300] diamondminus[0,300] hot(R). output alarm."
)
