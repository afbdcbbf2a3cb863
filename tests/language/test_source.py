"""Showing diagnostics: lines, carets, notes, and the same as plain data."""

from tidelog.plans.diagnostics.errors import Diagnostic, Note, ProgramError, Span
from tidelog.plans.diagnostics.source import Source, render, render_diagnostics, to_fields
from tidelog.plans.language.parser import parse


def shown(text: str, span: Span, *notes: Note, label: str = "here") -> list[str]:
    diagnostic = Diagnostic("code", "message", span, label, notes, "do this")
    return render(ProgramError([diagnostic], "a.tide", text)).splitlines()


def test_the_form_of_a_message():
    """Head, place, line, caret with its label, help."""
    assert shown("p :- q.", Span(5, 6)) == [
        "error[code]: message",
        " --> a.tide:1:6",
        "  |",
        "1 | p :- q.",
        "  |      ^ here",
        "  = help: do this",
    ]


def test_a_note_on_the_same_line_stands_beside_the_caret_if_there_is_room():
    """Otherwise it has a row of its own."""
    assert shown("p :- q,         r.", Span(5, 6), Note(Span(16, 17), "and"))[4:5] == ["  |      ^ here     - and"]
    assert shown("p :- q, r.", Span(5, 6), Note(Span(8, 9), "and"))[4:6] == ["  |      ^ here", "  |         - and"]


def test_notes_on_other_lines():
    """Each line is shown once, in order, with dots for what lies between; the numbers are aligned."""
    text = "a.\n" * 9 + "b.\n" + "c."
    assert shown(text, Span(30, 31), Note(Span(3, 4), "first"), Note(Span(27, 28), "second"))[1:] == [
        "  --> a.tide:11:1",
        "   |",
        " 2 | a.",
        "   | - first",
        "...",
        "10 | b.",
        "   | - second",
        "11 | c.",
        "   | ^ here",
        "   = help: do this",
    ]


def test_tabs_and_wide_characters_keep_the_caret_in_place():
    """A tab takes four cells and a wide character two; columns still count characters."""
    assert shown("\tp 字 q", Span(5, 6))[1:5] == [" --> a.tide:1:6", "  |", "1 |     p 字 q", "  |          ^ here"]


def test_what_steers_a_terminal_is_not_shown():
    """Escape sequences in a program cannot reach the terminal."""
    rendered = "\n".join(shown("p\x1b[31m q", Span(0, 1), label="\x1b[0m"))
    assert "\x1b" not in rendered


def test_a_long_line_is_cut_around_the_caret():
    """Only what is near the place in question is shown."""
    lines = shown("p" * 5000 + "!" + "q" * 5000, Span(5000, 5001))
    assert all(len(line) < 140 for line in lines)
    assert lines[3].index("!") == lines[4].index("^")
    assert lines[3].startswith("1 | ...") and lines[3].endswith("...")


def test_a_span_over_several_lines_is_marked_on_its_first():
    """The caret row never runs beyond the line."""
    assert shown("p(\n  a).", Span(0, 7))[3:5] == ["1 | p(", "  | ^^ here"]


def test_a_place_behind_the_end():
    """What is missing at the end is pointed at behind the last character."""
    assert shown("p :-", Span(4, 5))[4] == "  |     ^ here"


def test_a_windows_line_end_is_not_shown():
    """A carriage return is part of the line end."""
    assert Source("a.\r\nb.\r\n").line(1) == "a."


def test_without_text_the_place_is_the_file():
    """An error about the whole text has no line to show."""
    error = ProgramError([Diagnostic("code", "message", Span(0, 0))], "a.tide")
    assert render(error) == "error[code]: message\n --> a.tide\n"


def test_colour_adds_nothing_but_colour():
    """Take the colour codes away, and the plain text is left."""
    error = ProgramError([Diagnostic("code", "message", Span(0, 1), "here", help="do")], "a.tide", "p.")
    painted = render(error, colour=True)
    for code in ["\x1b[1m", "\x1b[31m", "\x1b[34m", "\x1b[0m"]:
        painted = painted.replace(code, "")
    assert painted == render(error)


def test_several_diagnostics_and_warnings():
    """Each diagnostic is a block of its own; a warning says so."""
    both = [Diagnostic("a", "one", Span(0, 1)), Diagnostic("b", "two", Span(0, 1), severity="warning")]
    blocks = render_diagnostics(both, "a.tide", "p.").split("\n\n")
    assert [block.splitlines()[0] for block in blocks] == ["error[a]: one", "warning[b]: two"]


def test_fields_for_programs():
    """The same as plain data: places count from 1, ends are exclusive."""
    diagnostic = Diagnostic("code", "message", Span(3, 5), "label", (Note(Span(0, 1), "note"),), "help")
    assert to_fields(ProgramError([diagnostic], "a.tide", "p\n\nqr.")) == [
        {
            "code": "code",
            "severity": "error",
            "message": "message",
            "file": "a.tide",
            "line": 3,
            "column": 1,
            "endLine": 3,
            "endColumn": 3,
            "label": "label",
            "notes": [{"line": 1, "column": 1, "endLine": 1, "endColumn": 2, "label": "note"}],
            "help": "help",
        }
    ]


def test_parsing_tells_its_file_and_its_text():
    """A parser's error can be shown as it is."""
    try:
        parse("p :- .", "x.tide")
    except ProgramError as error:
        assert render(error).splitlines()[1] == " --> x.tide:1:5"
    else:
        raise AssertionError("no error")
