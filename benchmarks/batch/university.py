"""Temporal LUBM: departments of a university with staff, students, courses and publications, each fact over an interval.

The 14 classes and 12 properties of the Lehigh University Benchmark (Guo, Pan and Heflin 2005), in its proportions but with
smaller departments of some 1,000 facts, so that a few thousand facts hold several; as in Wang et al. (section 6.2) each
fact has a random interval with rational ends. `RULES` are our own 29: 21 without recursion (hierarchy, joins, every metric
operator, a box in a head, since and until, unbounded reach), and 8 for three recursive predicates.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import count, islice

from benchmarks.batch.drawing import Drawing
from tidelog.plans.data.facts import Record
from tidelog.plans.data.timeline import Timeline
from tidelog.plans.tree.syntax import Value

SEED = 1
LONGEST = 200
DEPARTMENTS = 15
"""How many a university has."""
DEGREES_FROM = 1000
"""Universities that degrees are from."""
FACULTY = (("fullProfessor", 2, 12), ("associateProfessor", 3, 10), ("assistantProfessor", 3, 7), ("lecturer", 2, 3))
"""Of each class: how many a department has, and how many publications each of them."""
UNDERGRADUATES, GRADUATES, GROUPS = 8, 3, 5
"""For each member of the faculty; groups for each department."""

FLAT_RULES = """
professor(X) :- fullProfessor(X).
professor(X) :- associateProfessor(X).
professor(X) :- assistantProfessor(X).
faculty(X) :- professor(X).
faculty(X) :- lecturer(X).
student(X) :- undergraduateStudent(X).
student(X) :- graduateStudent(X).
employed(X, D) :- worksFor(X, D), faculty(X).
chair(X) :- headOf(X, D), boxminus[0,2] worksFor(X, D).
teaches(X, S) :- teacherOf(X, C), takesCourse(S, C).
settled(S) :- student(S), boxminus[0,4] memberOf(S, D).
graduating(S) :- graduateStudent(S), diamondplus[0,6] publicationAuthor(P, S).
assistantCandidate(S) :- graduateStudent(S), advisor(S, X), boxplus[0,3] professor(X).
boxplus[0,2] certificate(S, C) :- undergraduateStudent(S), boxminus[0,8] takesCourse(S, C).
lecturerCandidate(S) :- teachingAssistantOf(S, C), diamondminus[0,10] publicationAuthor(P, S).
visiting(S) :- memberOf(S, D) since[0,12] takesCourse(S, C).
preparing(S, X) :- advisor(S, X), faculty(X) until[0,8] publicationAuthor(P, X).
doctor(X) :- faculty(X), diamondminus[0,inf) doctoralDegreeFrom(X, U).
affiliated(X, U) :- memberOf(X, D), subOrganizationOf(D, U).
promotable(X) :- associateProfessor(X), boxminus[0,5] teacherOf(X, C), diamondminus[0,10] publicationAuthor(P, X).
mentor(X) :- diamondminus[0,3] boxminus[0,2] advisor(S, X).
"""

RECURSIVE_RULES = """
partOf(X, Y) :- subOrganizationOf(X, Y).
partOf(X, Z) :- subOrganizationOf(X, Y), partOf(Y, Z).
scholar(X) :- publicationAuthor(P, X).
scholar(X) :- boxminus[1,2] scholar(X), faculty(X).
trusted(X) :- headOf(X, D).
trusted(S) :- advisor(S, X), diamondminus[0,2] trusted(X).
trusted(X) :- publicationAuthor(P, S), publicationAuthor(P, X), trusted(S).
trusted(X) :- worksFor(X, D), trusted(X) since[1,6] scholar(X).
"""

FLAT = f"timeline rational, resolution 0.5.\n{FLAT_RULES}"
RULES = f"{FLAT}{RECURSIVE_RULES}"

_Fact = tuple[str, tuple[Value, ...]]


def university(facts: int, timeline: Timeline, seed: int = SEED) -> Iterator[Record]:
    """So many facts: universities, department by department; the last one may be cut short."""
    draw = Drawing(timeline, seed)
    for predicate, row in islice(_universities(draw), facts):
        yield (predicate, row, *draw.interval(LONGEST))


def _universities(draw: Drawing) -> Iterator[_Fact]:
    for number in count():
        name = f"university{number}"
        yield "university", (name,)
        for department in range(DEPARTMENTS):
            yield from _Department(f"u{number}d{department}", draw).facts(name)


class _Department:
    """One department: its faculty and courses first, then its students and what they publish with whom."""

    def __init__(self, name: str, draw: Drawing) -> None:
        self._name = name
        self._draw = draw
        self._professors: list[str] = []
        self._courses: list[str] = []
        self._graduate_courses: list[str] = []
        self._publications: list[str] = []

    def facts(self, university: str) -> Iterator[_Fact]:
        yield "department", (self._name,)
        yield "subOrganizationOf", (self._name, university)
        for number in range(GROUPS):
            group = f"{self._name}g{number}"
            yield "researchGroup", (group,)
            yield "subOrganizationOf", (group, self._name)
        yield from self._faculty()
        staff = sum(number for _, number, _ in FACULTY)
        for number in range(staff * UNDERGRADUATES):
            yield from self._undergraduate(f"{self._name}s{number}")
        for number in range(staff * GRADUATES):
            yield from self._graduate(f"{self._name}t{number}")

    def _faculty(self) -> Iterator[_Fact]:
        for kind, number, publications in FACULTY:
            for i in range(number):
                person = f"{self._name}{kind}{i}"
                if kind != "lecturer":
                    self._professors.append(person)
                yield kind, (person,)
                yield "worksFor", (person, self._name)
                for degree in ("undergraduateDegreeFrom", "mastersDegreeFrom", "doctoralDegreeFrom"):
                    yield degree, (person, self._any_university())
                yield from self._teaching(person)
                yield from self._writing(person, publications)
        yield "headOf", (self._professors[0], self._name)

    def _teaching(self, person: str) -> Iterator[_Fact]:
        for kind, courses in (("course", self._courses), ("graduateCourse", self._graduate_courses)):
            for i in range(self._draw.randint(1, 2)):
                course = f"{person}{kind}{i}"
                courses.append(course)
                yield kind, (course,)
                yield "teacherOf", (person, course)

    def _writing(self, person: str, most: int) -> Iterator[_Fact]:
        for i in range(self._draw.randint(most // 2, most)):
            publication = f"{person}p{i}"
            self._publications.append(publication)
            yield "publication", (publication,)
            yield "publicationAuthor", (publication, person)

    def _undergraduate(self, student: str) -> Iterator[_Fact]:
        yield "undergraduateStudent", (student,)
        yield "memberOf", (student, self._name)
        for course in self._draw.sample(self._courses, self._draw.randint(2, 4)):
            yield "takesCourse", (student, course)
        if self._draw.random() < 0.2:
            yield "advisor", (student, self._draw.choice(self._professors))

    def _graduate(self, student: str) -> Iterator[_Fact]:
        yield "graduateStudent", (student,)
        yield "memberOf", (student, self._name)
        yield "undergraduateDegreeFrom", (student, self._any_university())
        yield "advisor", (student, self._draw.choice(self._professors))
        for course in self._draw.sample(self._graduate_courses, self._draw.randint(1, 3)):
            yield "takesCourse", (student, course)
        for publication in self._draw.sample(self._publications, self._draw.randint(0, 2)):
            yield "publicationAuthor", (publication, student)
        if self._draw.random() < 0.25:
            yield "teachingAssistant", (student,)
            yield "teachingAssistantOf", (student, self._draw.choice(self._courses))
        elif self._draw.random() < 0.4:
            yield "researchAssistant", (student,)

    def _any_university(self) -> str:
        return f"university{self._draw.randrange(DEGREES_FROM)}"
