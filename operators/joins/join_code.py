"""The code of a join, written once for its rule, so that no pattern is interpreted for each fact.

The text is built from a checked `JoinShape` alone: names are numbered by the generator (`v0`, `rows1`), operators come from
fixed tables, and constants are passed in as objects, never as text. For a rule with n body atoms it defines

* `pattern_i(facts)`: atom i's rows narrowed to the columns that matter, those with other constants left out;
* `probe_i(facts, met, out, failed, most, join)`: for new coverage of atom i, the rows of the other atoms that go with it,
  times intersected; what begins behind `met` is passed over. Where `out` is longer than `most` before the rows of the last
  atom are gone through, `join.relieve(out)` is called: these are at most as many as are stored.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import cast

from tidelog.plans.analysis.physical.lookups import Key, kept_columns, outline, partners, variables_of
from tidelog.plans.data.once import once_per_object
from tidelog.plans.plan.plan import JoinShape
from tidelog.plans.tree.syntax import Arithmetic, Comparison, Constant, Expression, Term, Variable, Wildcard

_COMPARE = {"=": "==", "!=": "!=", "<": "<", "<=": "<=", ">": ">", ">=": ">="}
_INFIX = {"+": "+", "-": "-", "*": "*", "/": "/", "//": "//", "mod": "%"}
_LEVELS_PER_FUNCTION = 12
_CALLS = {"min": "min", "max": "max", "abs": "abs", "neg": "-"}


@dataclass(slots=True)
class JoinCode:
    """The generated text, what it refers to, and what the operator must know about it.

    `columns[i]` are the variables kept of atom i (its stored rows); `whole[i]` says that these are all its columns, so that
    no two rows of a channel become one; `distinct` that no two joined rows give the same head. `looked_up[i]` says that
    some probe asks for one row of atom i; `indexes[i]` names the time indexes that others ask, with their key's positions.
    """

    text: str
    constants: dict[str, object]
    columns: list[tuple[str, ...]]
    whole: list[bool]
    indexes: list[dict[str, tuple[int, ...]]]
    looked_up: list[bool]
    distinct: bool


_Place = tuple[int, int]
"""Where code is being written: the depth of indentation, and the level of the times narrowed so far."""


@dataclass(slots=True)
class _Writer:
    shape: JoinShape
    lines: list[str] = field(default_factory=list)
    constants: dict[str, object] = field(default_factory=dict)
    names: dict[str, str] = field(default_factory=dict)
    indexes: list[dict[tuple[int, ...], str]] = field(default_factory=list)
    looked_up: set[int] = field(default_factory=set)

    def line(self, depth: int, text: str) -> None:
        self.lines.append("    " * depth + text)

    def constant(self, value: object) -> str:
        for name, known in self.constants.items():
            if known == value and type(known) is type(value):
                return name
        name = f"k{len(self.constants)}"
        self.constants[name] = value
        return name

    def variable(self, name: str) -> str:
        return self.names.setdefault(name, f"v{len(self.names)}")


def write_join(shape: JoinShape) -> JoinCode:
    """The code of a rule, written once; `distinct` and `columns` tell the operator which stores it needs."""
    return _with_constants(shape)


def _write_join(shape: JoinShape) -> JoinCode:
    """The code of a rule: what is written once for all rules that differ in constants alone, with those of the rule."""
    numbered, values = outline(shape)
    code = _written(numbered)
    return replace(code, constants={name: values[cast(int, number)] for name, number in code.constants.items()})


_with_constants = once_per_object(_write_join, most=1024)


@lru_cache(maxsize=1024)
def _written(shape: JoinShape) -> JoinCode:
    writer = _Writer(shape, indexes=[{} for _ in shape.atoms])
    columns = [kept_columns(shape, i) for i in range(len(shape.atoms))]
    for i in range(len(shape.atoms)):
        _write_pattern(writer, i, columns[i])
    for i in range(len(shape.atoms)):
        _write_probe(writer, i, columns)
    head = {term.name for term in shape.head if isinstance(term, Variable)}
    kept = {name for names in columns for name in names}
    return JoinCode(
        text="\n".join(writer.lines) + "\n",
        constants=writer.constants,
        columns=columns,
        whole=[_is_whole(terms, columns[i]) for i, terms in enumerate(shape.atoms)],
        indexes=[{name: positions for positions, name in indexes.items()} for indexes in writer.indexes],
        looked_up=[i in writer.looked_up for i in range(len(shape.atoms))],
        distinct=kept <= head,
    )


def _is_whole(terms: tuple[Term, ...], columns: tuple[str, ...]) -> bool:
    """Whether different rows of the atom stay different: nothing but constants and repetitions is left out."""
    names = [term.name for term in terms if isinstance(term, Variable)]
    return set(names) == set(columns) and not any(isinstance(term, Wildcard) for term in terms)


def _write_pattern(writer: _Writer, i: int, columns: tuple[str, ...]) -> None:
    terms = writer.shape.atoms[i]
    if tuple(term.name if isinstance(term, Variable) else None for term in terms) == columns:
        writer.line(0, f"pattern_{i} = None")
        return
    tests: list[str] = []
    first: dict[str, int] = {}
    for position, term in enumerate(terms):
        if isinstance(term, Constant):
            tests.append(f"row[{position}] == {writer.constant(term.value)}")
        elif isinstance(term, Variable):
            if term.name in first:
                tests.append(f"row[{position}] == row[{first[term.name]}]")
            first.setdefault(term.name, position)
    kept = "".join(f"row[{first[name]}], " for name in columns)
    condition = f" if {' and '.join(tests)}" if tests else ""
    writer.line(0, f"def pattern_{i}(facts):")
    writer.line(1, f"return [(({kept}), lo, hi) for row, lo, hi in facts{condition}]")


# --- probing ------------------------------------------------------------------------------------------------------------


def _write_probe(writer: _Writer, i: int, columns: list[tuple[str, ...]]) -> None:
    writer.line(0, f"def probe_{i}(facts, met, out, failed, most, join):")
    writer.line(1, "for row, lo0, hi0 in facts:")
    writer.line(2, "if lo0 > met: continue")
    unpacking = len(writer.lines)
    _unpack(writer, 2, "row", columns[i])
    bound = set(columns[i])
    pending = list(writer.shape.comparisons)
    at: _Place = (2, 0)
    _write_comparisons(writer, at[0], bound, pending)
    left = partners(writer.shape, columns, i)
    sources = {columns[i]: "row"}
    while left:
        j, key = left.pop(0)
        if not left:
            writer.line(at[0], "if len(out) > most: join.relieve(out)")
        at = _write_match(writer, at, (j, key), columns[j], bound, sources)
        _write_comparisons(writer, at[0], bound, pending)
        if left and at[1] % _LEVELS_PER_FUNCTION == 0:
            at = _write_continuation(writer, i, at, [*sources.values(), *map(writer.variable, sorted(bound))])
    depth, level = at
    writer.line(depth, f"out.append(({_head(writer, sources)}, lo{level}, hi{level}))")
    _drop_unused(writer, unpacking, columns[i])


def _write_continuation(writer: _Writer, i: int, at: _Place, known: list[str]) -> _Place:
    """Go on in a function of its own: Python nests no more than 20 blocks in one."""
    depth, level = at
    passed = ["out", "failed", "most", "join", f"lo{level}", f"hi{level}", *dict.fromkeys(known)]
    signature = f"probe_{i}_{level}({', '.join(passed)})"
    writer.line(depth, signature)
    writer.line(0, f"def {signature}:")
    writer.line(1, "for _ in (0,):")  # what does not go on from here, continues
    return 2, level


def _unpack(writer: _Writer, depth: int, row: str, columns: tuple[str, ...]) -> None:
    if columns:
        writer.line(depth, "".join(f"{writer.variable(name)}, " for name in columns).rstrip(" ") + f" = {row}")


def _drop_unused(writer: _Writer, unpacking: int, columns: tuple[str, ...]) -> None:
    """Leave out the line that unpacks a row where the code behind it needs the row alone."""
    code = "\n".join(writer.lines[unpacking + 1 :])
    if columns and not any(writer.variable(name) in code for name in columns):
        del writer.lines[unpacking]


def _write_match(
    writer: _Writer,
    at: _Place,
    partner: tuple[int, Key],
    columns: tuple[str, ...],
    bound: set[str],
    sources: dict[tuple[str, ...], str],
) -> _Place:
    """Go through the coverage of an atom that agrees with what is bound and meets the times of this level."""
    j, known = partner
    depth, level = at
    if known is None:
        writer.looked_up.add(j)
        row = sources.get(columns) or _tuple(writer.variable(name) for name in columns)
        writer.line(depth, f"b{level + 1} = rows{j}.get({row})")
        writer.line(depth, f"if b{level + 1} is None: continue")
        return _write_overlap(writer, at)
    index = writer.indexes[j].setdefault(known, f"index{j}_{len(writer.indexes[j])}")
    _write_group(writer, at, index, [writer.variable(columns[position]) for position in known])
    lo, hi, n = f"lo{level}", f"hi{level}", level + 1
    writer.line(depth, f"for r{j}, lo{n}, hi{n} in g{n}:")
    writer.line(depth + 1, f"if lo{n} > {hi} or hi{n} < {lo}: continue")
    writer.line(depth + 1, f"if lo{n} < {lo}: lo{n} = {lo}")
    writer.line(depth + 1, f"if hi{n} > {hi}: hi{n} = {hi}")
    for position, name in enumerate(columns):
        if name not in bound:
            writer.line(depth + 1, f"{writer.variable(name)} = r{j}[{position}]")
    bound |= set(columns)
    sources[columns] = f"r{j}"
    return depth + 1, level + 1


def _write_group(writer: _Writer, at: _Place, index: str, key: list[str]) -> None:
    """Look up the pieces under a key; of very many, those that may meet the times of this level."""
    depth, level = at
    group = f"g{level + 1}"
    writer.line(depth, f"{group} = {index}.get({key[0] if len(key) == 1 else _tuple(key)})")
    writer.line(depth, f"if {group} is None: continue")
    writer.line(depth, f"if {group}.__class__ is not tuple: {group} = {group}.near(lo{level}, hi{level})")


def _write_overlap(writer: _Writer, at: _Place) -> _Place:
    """Go through the ranges of one row that meet the times of this level, in order; narrows into the next level."""
    depth, level = at
    lo, hi, n = f"lo{level}", f"hi{level}", level + 1
    writer.line(depth, f"i{n} = bisect_left(b{n}, {lo}) | 1")  # the end of the first range that ends at or after {lo}
    writer.line(depth, f"while i{n} < len(b{n}):")
    writer.line(depth + 1, f"lo{n} = b{n}[i{n} - 1]")
    writer.line(depth + 1, f"if lo{n} > {hi}: break")
    writer.line(depth + 1, f"hi{n} = b{n}[i{n}]")
    writer.line(depth + 1, f"i{n} += 2")
    writer.line(depth + 1, f"if lo{n} < {lo}: lo{n} = {lo}")
    writer.line(depth + 1, f"if hi{n} > {hi}: hi{n} = {hi}")
    return depth + 1, n


def _tuple(names: Iterable[str]) -> str:
    return "(" + "".join(f"{name}, " for name in names) + ")"


def _head(writer: _Writer, sources: dict[tuple[str, ...], str]) -> str:
    terms = writer.shape.head
    names = tuple(term.name for term in terms if isinstance(term, Variable))
    if len(names) == len(terms) and names in sources:
        return sources[names]
    return _tuple(
        writer.variable(term.name) if isinstance(term, Variable) else writer.constant(term.value)
        for term in terms
        if not isinstance(term, Wildcard)
    )


# --- comparisons --------------------------------------------------------------------------------------------------------


def _write_comparisons(writer: _Writer, depth: int, bound: set[str], pending: list[Comparison]) -> None:
    """Write every comparison that can be decided by now; `X = expression` binds X."""
    progress = True
    while progress:
        progress = False
        for comparison in list(pending):
            if _write_comparison(writer, depth, bound, comparison):
                pending.remove(comparison)
                progress = True


def _write_comparison(writer: _Writer, depth: int, bound: set[str], comparison: Comparison) -> bool:
    left, right = comparison.left, comparison.right
    left_known, right_known = variables_of(left) <= bound, variables_of(right) <= bound
    if left_known and right_known:
        operator = _COMPARE[comparison.operator]
        test = f"{_code(writer, left)} {operator} {_code(writer, right)}"
        _write_guarded(writer, depth, f"if not {test}: continue", comparison)
        return True
    if comparison.operator != "=":
        return False
    for target, value, known in ((left, right, right_known), (right, left, left_known)):
        if known and isinstance(target, Variable):
            result = f"canonical({_code(writer, value)})" if isinstance(value, Arithmetic) else _code(writer, value)
            _write_guarded(writer, depth, f"{writer.variable(target.name)} = {result}", comparison)
            bound.add(target.name)
            return True
    return False


def _write_guarded(writer: _Writer, depth: int, text: str, comparison: Comparison) -> None:
    """Rows for which the text has no value do not fire; where it was arithmetic that failed, they are counted.

    Python would repeat or concatenate text, so operands of arithmetic are checked to be numbers first.
    """
    for expression in (comparison.left, comparison.right):
        if isinstance(expression, Arithmetic):
            for operand in sorted({_code(writer, leaf) for leaf in _leaves(expression)}):
                writer.line(depth, f"if {operand}.__class__ is str: failed[0] += 1; continue")
    writer.line(depth, "try:")
    writer.line(depth + 1, text)
    writer.line(depth, "except TypeError: continue")
    writer.line(depth, "except UNCOMPUTABLE: failed[0] += 1; continue")


def _leaves(expression: Expression) -> list[Expression]:
    if isinstance(expression, Arithmetic):
        return [leaf for operand in expression.operands for leaf in _leaves(operand)]
    return [expression]


def _code(writer: _Writer, expression: Expression) -> str:
    if isinstance(expression, Variable):
        return writer.variable(expression.name)
    if isinstance(expression, Constant):
        return writer.constant(expression.value)
    if isinstance(expression, Arithmetic):
        operands = [_code(writer, operand) for operand in expression.operands]
        if expression.operator in _INFIX:
            return f"({f' {_INFIX[expression.operator]} '.join(operands)})"
        return f"{_CALLS[expression.operator]}({', '.join(operands)})"
    raise TypeError("`_` has no value")
