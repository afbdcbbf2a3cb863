"""`tidelog check --prove`: what can be said of a program without data, and what was not decided."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from tidelog.commands.outcome import count, say
from tidelog.plans.diagnostics.errors import SpecError
from tidelog.testing.against import Against, Comparison
from tidelog.testing.proving import Proof
from tidelog.testing.scenarios import Lines, in_time, scenarios
from tidelog.testing.witnessing import Witness

_MOST = 4
"""So many facts of a witness are shown."""
_MOST_NAMES = 20
"""So many names of what is undecided."""


def text(proof: Proof) -> str:
    """What is known of each output, for people; the findings are diagnostics, and shown as such."""
    lines = [*_outputs(proof)]
    lines += [f"`{one}` and `{other}` never hold at one time of the same things" for one, other in proof.excluding]
    for (question, reason), of in proof.open_questions.items():
        more = f" and {len(of) - _MOST_NAMES} more, which `--format json` names" if len(of) > _MOST_NAMES else ""
        lines.append(f"undecided, since {reason}, {question}: {', '.join(of[:_MOST_NAMES])}{more}")
    return "".join(f"{line}\n" for line in lines)


def _outputs(proof: Proof) -> Iterator[str]:
    lines = Lines(proof.plan)
    for name, answer in proof.answers.items():
        witness = proof.witnesses.get(name)
        match answer:
            case "never":
                yield f"{name}: can never hold"
            case "undecided":
                yield f"{name}: no facts were found that make it begin, and no proof that there are none"
            case _ if witness is not None:
                what = {"ends": "begins and ends", "never ends": "begins, and never ends"}.get(answer, "begins")
                yield f"{name}: {what} with {_shown(lines, witness)}"


def _shown(lines: Lines, witness: Witness) -> str:
    return _line(lines.facts(witness))


def _line(facts: Sequence[str]) -> str:
    if not facts:
        return "no facts at all"
    more = f" and {count(len(facts) - _MOST, 'fact')} more" if len(facts) > _MOST else ""
    return " ".join(facts[:_MOST]) + more


def fields(proof: Proof) -> dict[str, object]:
    """The same for programs."""
    lines = Lines(proof.plan)
    return {
        "outputs": {
            name: {
                "answer": answer,
                "facts": lines.facts(witness) if (witness := proof.witnesses.get(name)) else [],
                "told": lines.told(witness) if witness else [],
            }
            for name, answer in proof.answers.items()
        },
        "never_together": [list(pair) for pair in proof.excluding],
        "undecided": [{"question": item.asked, "of": item.of, "reason": item.reason} for item in proof.undecided],
    }


def against_text(compared: Against, names: tuple[str, str]) -> str:
    """What two programs, the new one and the old one, tell beside each other, for people."""
    shown: list[str] = []
    for side, comparisons in enumerate((compared.new, compared.old)):
        name, beside = names[side], names[1 - side]
        for item in comparisons:
            match item.outcome:
                case "more":
                    facts, told = _pieces(compared, side, item)
                    shown.append(f"{item.output}: {name} tells {_line(told)}, {beside} does not, with {_line(facts)}")
                case "nothing more":
                    shown.append(f"{item.output}: {name} tells nothing that {beside} does not")
                case _:
                    shown.append(
                        f"undecided, since {item.reason}, whether {name} tells of {item.output} what {beside} does not"
                    )
    return "".join(f"{line}\n" for line in shown)


def against_fields(compared: Against) -> dict[str, object]:
    """The same for programs."""
    shown: dict[str, object] = {}
    for side, (name, comparisons) in enumerate((("new", compared.new), ("old", compared.old))):
        pieces = {item.output: (item, *_pieces(compared, side, item)) for item in comparisons}
        shown[name] = {
            output: {
                "outcome": item.outcome,
                "facts": facts,
                "told": told,
                **({} if item.reason is None else {"reason": item.reason}),
            }
            for output, (item, facts, told) in pieces.items()
        }
    return shown


def _pieces(compared: Against, side: int, item: Comparison) -> tuple[list[str], list[str]]:
    """The facts and what is told of them, as text; each fact as a program writes it that takes it."""
    writers = (Lines(compared.plans[side]), Lines(compared.plans[1 - side]))
    facts: list[str] = []
    for fact in in_time(item.facts):
        facts += next(lines for lines in writers if lines.takes(fact)).of_facts([fact])
    return facts, writers[0].of(item.told)


def write_scenarios(proof: Proof, program: str, file: str) -> None:
    """Write the witnesses as tests; SpecError where the file is there already, or cannot be written."""
    path = Path(file)
    if not proof.witnesses:
        say(f"`{file}` is not written: no facts were found that make an output begin")
        return
    made, passed = scenarios(proof.plan, Path(program), path.parent.resolve(), list(proof.witnesses.values()))
    for name, witness in proof.witnesses.items():
        if witness not in passed:
            say(f"the test of `{name}` does not pass, and is not written: has `{program}` been changed meanwhile?")
    if not passed:
        return
    try:
        with path.open("x", encoding="utf-8", newline="\n") as out:
            out.write(made)
    except FileExistsError as error:
        raise SpecError(f"--scenarios: `{file}` is there already, and may have been edited: name another file") from error
    except OSError as error:
        raise SpecError(f"--scenarios: cannot write `{file}`: {error.strerror}") from error
    say(f"{count(len(passed), 'test')} written to `{file}`: run `tidelog test {file}`")
