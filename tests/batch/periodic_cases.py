"""Programs whose recursion never ends, with what holds worked out by hand from Table 1 of Wałęga et al. 2023.

`holds` maps an atom and a stretch of time, both ends included, to its runs there, cut at the ends of the stretch.
`covers` and `lacks` are facts that hold at all times of their interval, or not at all of them. `violated` tells when a
constraint, the last rule, is.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

Stretch = tuple[str, int, int]


@dataclass(frozen=True)
class Case:
    """A program and facts as text, and what holds."""

    name: str
    program: str
    facts: tuple[str, ...]
    holds: Mapping[Stretch, str]
    covers: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    violated: Mapping[tuple[int, int], str] | None = None

    def __str__(self) -> str:
        return self.name


COUNTER = """timeline integer.
boxplus[1,1] one(0) :- zero(0).             boxplus[1,1] zero(0) :- one(0).
boxplus[1,1] one(1) :- zero(1), one(0).     boxplus[1,1] zero(1) :- one(1), one(0).
boxplus[1,1] one(1) :- one(1), zero(0).     boxplus[1,1] zero(1) :- zero(1), zero(0).
carry :- one(0), one(1).                    none :- zero(0).                           none :- zero(1).
boxplus[1,1] one(2) :- zero(2), carry.      boxplus[1,1] zero(2) :- one(2), carry.
boxplus[1,1] one(2) :- one(2), none.        boxplus[1,1] zero(2) :- zero(2), none.
"""
"""Three bits that count the times from 0 on: bit 2 is set at the times 4 … 7 of each 8."""

ALTERNATE = "boxplus[1,1] p(b) :- p(a). boxplus[1,1] p(a) :- p(b)."
HALVES = "boxplus[1,1] p :- p."
ODDS = "timeline integer. boxplus[2,2] p :- p. odd :- diamondminus[0,inf) begin, not p."

WALKS = [
    Case(
        "steps of two",
        "boxplus[2,2] p :- p.",
        ("p@0",),
        {("p", -4, 8): "0 2 4 6 8", ("p", 6001, 6007): "6002 6004 6006", ("p", -6007, -6001): ""},
        lacks=("p@[2,4]", "p@(0,2)", "p@[0,inf)", "p@6001"),
        covers=("p@6002",),
    ),
    Case(
        "a walk to each side",
        "boxplus[3,3] p :- p. boxminus[2,2] q :- q.",
        ("p@1", "q@-1"),
        {
            ("p", -4, 10): "1 4 7 10",
            ("p", 3001, 3007): "3001 3004 3007",
            ("q", -7, 3): "-7 -5 -3 -1",
            ("q", -2005, -2000): "-2005 -2003 -2001",
        },
        lacks=("p@-2", "q@1", "q@-2000"),
    ),
    Case(
        "both ways through one predicate",
        "boxplus[3,3] p :- p. boxminus[2,2] p :- p.",
        ("p@0",),
        {("p", -2, 3): "-2 -1 0 1 2 3", ("p", 900, 902): "900 901 902", ("p", -902, -900): "-902 -901 -900"},
        lacks=("p@1/2", "p@(7,8)"),
    ),
    Case(
        "walks that come towards each other meet for a while",
        "boxplus[2,2] p :- p. boxminus[3,3] q :- q. r :- p, q.",
        ("p@0", "q@12"),
        {("r", -30, 30): "0 6 12", ("r", 3000, 3060): "", ("r", -3060, -3000): ""},
    ),
    Case(
        "periods 2 and 3 join to 6",
        "boxplus[2,2] p :- p. boxplus[3,3] q :- q. r :- p, q.",
        ("p@0", "q@1"),
        {("r", -4, 20): "4 10 16", ("r", 6000, 6012): "6004 6010"},
        covers=("r@600004",),
        lacks=("r@600006",),
    ),
    Case(
        "a counter with gates",
        COUNTER,
        ("zero(0)@0", "zero(1)@0", "zero(2)@0"),
        {
            ("one(0)", -2, 7): "1 3 5 7",
            ("one(1)", -2, 11): "[2,3] [6,7] [10,11]",
            ("one(2)", -2, 16): "[4,7] [12,15]",
            ("one(2)", 8000, 8013): "[8004,8007] [8012,8013]",
            ("carry", 4000, 4008): "4003 4007",
        },
        covers=("one(2)@[80004,80007]", "zero(2)@[80008,80011]"),
        lacks=("one(2)@[80004,80008]", "zero(0)@-2"),
    ),
    Case(
        "rows take turns",
        ALTERNATE,
        ("p(a)@0",),
        {
            ("p(a)", -3, 5): "0 2 4",
            ("p(b)", -3, 5): "1 3 5",
            ("p(a)", 2001, 2004): "2002 2004",
            ("p(b)", 2001, 2004): "2001 2003",
        },
    ),
    Case(
        "a walk that ends where its gate does",
        "boxminus[1,1] p :- p, g.",
        ("p@5", "g@[0,5]"),
        {("p", -9, 9): "-1 0 1 2 3 4 5"},
        lacks=("p@-2", "p@6"),
    ),
    Case(
        "a walk along since ends with its left side",
        "p :- g since[2,2] p.",
        ("p@0", "g@(0,7)"),
        {("p", -4, 20): "0 2 4 6"},
    ),
    Case(
        "a walk along until ends at a hole",
        "p :- g until[2,2] p. boxminus[1,1] g :- g.",
        ("p@0", "g@(-1,0)"),
        {("p", -8, 8): "0", ("g", -3, 3): "(-3,-2) (-2,-1) (-1,0)"},
        lacks=("p@-2",),
    ),
    Case(
        "a walk along until goes on for ever",
        "p :- g until[2,2] p. boxminus[1,1] g :- g.",
        ("p@0", "g@(-1,0]"),
        {("p", -8, 8): "-8 -6 -4 -2 0", ("g", -3, 3): "[-3,0]", ("p", -403, -399): "-402 -400"},
        covers=("g@(-inf,0]",),
    ),
]

DENSE = [
    Case(
        "a half of each unit, from a point on",
        HALVES,
        ("p@[0,1/2)",),
        {("p", -1, 3): "[0,1/2) [1,3/2) [2,5/2) 3", ("p", 100, 102): "[100,201/2) [101,203/2) 102"},
        covers=("p@[100,201/2)",),
        lacks=("p@[100,201/2]", "p@[99,100]", "p@-1"),
    ),
    Case(
        "a half of each unit, up to a point",
        HALVES,
        ("p@(0,1/2]",),
        {("p", -1, 3): "(0,1/2] (1,3/2] (2,5/2]", ("p", 100, 102): "(100,201/2] (101,203/2]"},
        covers=("p@(100,201/2]",),
        lacks=("p@[100,201/2]",),
    ),
    Case(
        "gaps alone, and the points between them",
        "boxplus[1,1] p :- p. hole :- diamondminus[0,inf) p, not p.",
        ("p@(0,1)",),
        {("p", -1, 2): "(0,1) (1,2)", ("hole", -1, 3): "1 2 3", ("hole", 500, 501): "500 501"},
        lacks=("hole@0", "p@(0,2)"),
    ),
    Case(
        "closed units touch and fill up",
        HALVES,
        ("p@[0,1]",),
        {("p", -1, 3): "[0,3]", ("p", 500, 501): "[500,501]"},
        covers=("p@[0,inf)", "p@(7,inf)"),
        lacks=("p@(-1,inf)", "p@(-inf,inf)"),
    ),
    Case(
        "a box that fills up",
        "boxplus[0,1] p :- p.",
        ("p@0",),
        {("p", -4, 14): "[0,14]"},
        covers=("p@[0,inf)",),
        lacks=("p@(-inf,0]",),
    ),
    Case(
        "an open box fills up, too",
        "boxplus(0,1) p :- p.",
        ("p@0",),
        {("p", -4, 14): "[0,14]"},
        covers=("p@[0,inf)",),
    ),
    Case(
        "a half-open box fills all integers before a fact",
        "timeline integer. boxminus[1,2) p :- p.",
        ("p@3",),
        {("p", -4, 6): "[-4,3]", ("p", -900, -890): "[-900,-890]"},
        covers=("p@(-inf,3]",),
        lacks=("p@(-inf,4]",),
    ),
    Case(
        "an open box leaves out a few points",
        "boxplus(1,2) p :- p.",
        ("p@0",),
        {("p", -4, 9): "0 (1,2) (2,9]"},
        covers=("p@(2,inf)",),
        lacks=("p@[2,inf)", "p@(1,inf)"),
    ),
    Case(
        "boxes that grow until they meet",
        "boxplus[3,4] p :- p.",
        ("p@0",),
        {("p", -4, 14): "0 [3,4] [6,8] [9,14]"},
        covers=("p@[9,inf)",),
        lacks=("p@[8,inf)",),
    ),
    Case(
        "open boxes that grow until they meet",
        "boxplus(3,4) p :- p.",
        ("p@0",),
        {("p", -4, 14): "0 (3,4) (6,8) (9,12) (12,14]", ("p", 14, 20): "[14,20]"},
        covers=("p@(12,inf)",),
        lacks=("p@(9,inf)",),
    ),
    Case(
        "data that last for ever spread over all times",
        "boxminus[1,1] p :- p. boxplus[1,1] q :- q.",
        ("p@[3,inf)", "q@(-inf,0)"),
        {("p", -9, 9): "[-9,9]", ("q", -9, 9): "[-9,9]"},
        covers=("p@(-inf,inf)", "q@(-inf,inf)"),
    ),
]

UNBOUNDED = [
    Case(
        "diamonds without an end over a walk",
        "boxplus[2,2] p :- p. later :- diamondplus[0,inf) p. once :- diamondminus[0,inf) p. after :- diamondminus(3,inf) p.",
        ("p@0",),
        {("later", -3, 3): "[-3,3]", ("once", -3, 3): "[0,3]", ("after", -3, 9): "(3,9]"},
        covers=("later@(-inf,inf)", "once@[0,inf)", "after@(3,inf)"),
        lacks=("once@(-inf,inf)", "after@[3,4]"),
    ),
    Case(
        "a diamond with an open begin before a walk back",
        "boxminus[2,2] q :- q. p :- diamondplus(3,inf) q.",
        ("q@-1",),
        {("p", -8, 0): "[-8,-4)"},
        covers=("p@(-inf,-4)",),
        lacks=("p@-4",),
    ),
    Case(
        "boxes without an end over what fills up, and over what does not",
        """boxplus[0,1] f :- f. boxplus[1,1] p :- p.
        full :- boxplus[0,inf) f. never :- boxplus[0,inf) p. late :- boxplus[2,inf) f.""",
        ("f@0", "p@0"),
        {("full", -4, 4): "[0,4]", ("never", -4, 4): "", ("late", -4, 4): "[-2,4]"},
        covers=("full@[0,inf)", "late@[-2,inf)"),
        lacks=("late@[-3,inf)",),
    ),
    Case(
        "a walk that begins only once all of a tail is there",
        "boxplus[0,1] f :- f. boxminus[2,2] back :- back. back :- boxplus[0,inf) f, start.",
        ("f@0", "start@[-1,1]"),
        {("back", -3, 3): "-3 [-2,-1] [0,1]", ("back", -42, -39): "[-42,-41] [-40,-39]"},
        lacks=("back@3/2", "back@(-1,0)"),
    ),
    Case(
        "since without an end along what fills up",
        "boxplus[0,1] p :- p. s :- p since[0,inf) q. t :- p since(2,inf) q.",
        ("p@0", "q@3"),
        {("s", -4, 9): "[3,9]", ("t", -4, 9): "(5,9]"},
        covers=("s@[3,inf)", "t@(5,inf)"),
        lacks=("t@[5,6]",),
    ),
    Case(
        "until without an end towards a walk",
        "boxplus[0,1] p :- p. boxplus[5,5] q :- q. u :- p until[2,inf) q.",
        ("p@0", "q@5"),
        {("u", -4, 9): "[0,9]", ("u", 700, 703): "[700,703]"},
        covers=("u@[0,inf)",),
        lacks=("u@(-1,0)",),
    ),
    Case(
        "since along the halves of units",
        "boxplus[1,1] p :- p. boxplus[1,1] q :- q. s :- p since[0,inf) q.",
        ("p@[0,1/2)", "q@0"),
        {("s", -1, 3): "[0,1/2] [1,3/2] [2,5/2] 3", ("s", 100, 101): "[100,201/2] 101"},
        covers=("s@[100,201/2]",),
        lacks=("s@[100,101]",),
    ),
]

NEGATED = [
    Case(
        "the odd times are those at which the even ones are not",
        ODDS,
        ("p@0", "begin@0"),
        {("odd", -4, 7): "1 3 5 7", ("odd", 4000, 4004): "4001 4003"},
        lacks=("odd@-1", "odd@4000"),
    ),
    Case(
        "after the last time of a walk back",
        "boxminus[2,2] q :- q. over :- diamondminus[0,inf) q, not diamondplus[0,inf) q.",
        ("q@-1",),
        {("over", -4, 4): "(-1,4]"},
        covers=("over@(-1,inf)",),
        lacks=("over@-1",),
    ),
    Case(
        "a recursion gated by what another does not say",
        "timeline integer. boxplus[3,3] p :- p. boxplus[1,1] n :- n, not p.",
        ("p@0", "n@1"),
        {("n", -4, 30): "[1,3]"},
    ),
    Case(
        "all times but a walk's fill up to the right and the left",
        "boxplus[4,4] p :- p. free :- not diamondminus[0,2) p, any. boxplus[1,1] any :- any. boxminus[1,1] any :- any.",
        ("p@0", "any@[0,1]"),
        {("free", -3, 8): "[-3,0) [2,4) [6,8)", ("free", 400, 404): "[402,404)"},
        covers=("free@(-inf,0)", "free@[402,404)", "any@(-inf,inf)"),
        lacks=("free@(-inf,0]",),
    ),
]

CONSTRAINED = [
    Case(
        "violated only where periods 7 and 11 meet",
        "boxplus[7,7] p :- p. boxplus[11,11] q :- q. bottom :- p, q.",
        ("p@0", "q@5"),
        {("p", 40, 50): "42 49", ("q", 40, 50): "49"},
        violated={(-20, 48): "", (48, 130): "49 126"},
    ),
    Case(
        "not violated by walks that never meet",
        "boxplus[2,2] p :- p. boxplus[4,4] q :- q. bottom :- p, q.",
        ("p@0", "q@1"),
        {("q", 0, 9): "1 5 9"},
    ),
    Case(
        "not violated where a point lies beside a gap",
        "boxplus[2,2] p :- p. boxplus[3/2,3/2] q :- q. bottom :- p, q.",
        ("p@(0,1/2)", "q@0"),
        {("q", 0, 4): "0 3/2 3"},
    ),
    Case(
        "violated at a point and in a gap",
        "boxplus[2,2] p :- p. boxplus[3,3] q :- q. bottom :- p, q.",
        ("p@[0,1)", "q@(1,2]"),
        {("p", 0, 4): "[0,1) [2,3) 4", ("q", 0, 5): "(1,2] (4,5]"},
        violated={(-2, 3): "2", (3, 7): "(4,5)", (6000, 6004): "6002"},
    ),
]

CASES = [*WALKS, *DENSE, *UNBOUNDED, *NEGATED, *CONSTRAINED]
