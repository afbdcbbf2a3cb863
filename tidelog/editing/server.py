"""The language server: what editors ask, answered through the Language Server Protocol (`tidelog lsp`)."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from lsprotocol import types
from pygls.exceptions import JsonRpcInvalidParams
from pygls.lsp.server import LanguageServer
from pygls.workspace import TextDocument

from tidelog.editing.completing import Proposal, proposals
from tidelog.editing.document import Draft, Findings, examine, hints
from tidelog.editing.hovering import hover_text
from tidelog.editing.inlays import inlays
from tidelog.editing.mending import Mending, mendings
from tidelog.editing.names import DEFINING, Mention, Names
from tidelog.editing.positions import Positions
from tidelog.editing.renaming import RenameError, rename
from tidelog.plans.diagnostics.errors import Diagnostic, ProgramError, Span, TidelogError
from tidelog.plans.language.formatting.program import format_text
from tidelog.version import VERSION

_GLANCE = 0.05
"""How many seconds nothing has to be typed before a program is looked at: its statements, and what is wrong with them."""
_PAUSE = 0.15
"""How many more before it is compiled, which takes longer: what can be told of its plan alone."""
_SEVERITIES = {
    "error": types.DiagnosticSeverity.Error,
    "warning": types.DiagnosticSeverity.Warning,
    "hint": types.DiagnosticSeverity.Hint,
}
_KINDS = {
    "predicate": types.CompletionItemKind.Function,
    "variable": types.CompletionItemKind.Variable,
    "keyword": types.CompletionItemKind.Keyword,
    "directive": types.CompletionItemKind.Keyword,
    "pattern": types.CompletionItemKind.Snippet,
}


@dataclass(frozen=True, slots=True)
class Shown:
    """What a client was told of a text, and of which version; `needs_plan` where only compiling found what is wrong."""

    text: str
    diagnostics: tuple[Diagnostic, ...]
    needs_plan: bool = False
    version: int | None = None


class TideServer(LanguageServer):
    """A server with what it knows of each open program: of its last text, and of the last one that could be compiled."""

    def __init__(self) -> None:
        super().__init__("tidelog", VERSION, text_document_sync_kind=types.TextDocumentSyncKind.Full)
        self._names: dict[str, Names] = {}
        self._findings: dict[str, Findings] = {}
        self._drafts: dict[str, Draft] = {}
        self._shown: dict[str, Shown] = {}

    @property
    def takes_snippets(self) -> bool:
        """Whether the client fills places in what completion puts in."""
        document = self.client_capabilities.text_document
        completion = document.completion if document else None
        item = completion.completion_item if completion else None
        return bool(item and item.snippet_support)

    def names(self, uri: str) -> Names:
        """The names of a document as it stands."""
        text = self.document(uri).source
        known = self._names.get(uri)
        if known is None or known.text != text:
            known = self._names[uri] = Names(text)
        return known

    def document(self, uri: str) -> TextDocument:
        """A document as the editor has it."""
        document: TextDocument = self.workspace.get_text_document(uri)
        return document

    def findings(self, uri: str) -> Findings | None:
        """What is known of the last text that could be compiled."""
        return self._findings.get(uri)

    def positions(self, uri: str) -> Positions:
        """The places of a document's text as the client counts them."""
        return Positions(self.document(uri).source, self.workspace.position_codec.client_num_units)

    def offset(self, uri: str, position: types.Position) -> int:
        """Where in the text a position lies."""
        return self.positions(uri).offset(position.line, position.character)

    def range(self, uri: str, span: Span) -> types.Range:
        """A stretch of the text as the client counts it."""
        return _range(self.positions(uri), span)

    def shown(self, uri: str) -> Sequence[Diagnostic]:
        """What is shown as wrong with a document as it stands; nothing where it has changed since."""
        shown = self._shown.get(uri)
        return shown.diagnostics if shown is not None and shown.text == self.document(uri).source else ()

    async def examine(self, uri: str, *, deeply: bool) -> None:
        """Publish what is wrong with a document, unless it is changed meanwhile.

        While it is typed, what can be told without its plan is published first, but where the last text could not be
        compiled though nothing was wrong with its statements: else a mistake of that kind would come and go.
        """
        text = await self._text_after(uri, 0 if deeply else _GLANCE)
        if text is None:
            return
        look = await asyncio.to_thread(self._drafts.setdefault(uri, Draft()).look, text)
        shown = self._shown.get(uri)
        if look.is_final or not (deeply or (shown is not None and shown.needs_plan)):
            self._show(uri, Shown(text, look.diagnostics))
        if await self._text_after(uri, 0 if deeply or look.is_final else _PAUSE) != text:
            return
        folder = Path(self.document(uri).path).parent
        findings = await asyncio.to_thread(examine, look, folder, deeply=deeply)
        names = await asyncio.to_thread(Names, text)
        document = self._if_open(uri)
        if document is None or document.source != text:
            return
        self._names[uri] = names
        if findings.plan is not None:
            self._findings[uri] = findings
            self._refresh_inlays()
        self._show(uri, Shown(text, findings.diagnostics, needs_plan=findings.plan is None and not look.is_final))
        if deeply and findings.plan is not None:
            found = await asyncio.to_thread(hints, findings.plan)
            if found:
                self._show(uri, Shown(text, (*findings.diagnostics, *found)))

    async def _text_after(self, uri: str, pause: float) -> str | None:
        """The text of an open document; None for one that has been changed, or closed, within a pause."""
        document = self._if_open(uri)
        version = document.version if document is not None else None
        if pause:
            await asyncio.sleep(pause)
        document = self._if_open(uri)
        return document.source if document is not None and document.version == version else None

    def _show(self, uri: str, shown: Shown) -> None:
        """Publish findings of a document's text, if it has that text, and does not show them already."""
        document = self._if_open(uri)
        if document is None or document.source != shown.text:
            return
        before, self._shown[uri] = self._shown.get(uri), replace(shown, version=document.version)
        if before is not None and (before.version, before.diagnostics) == (document.version, shown.diagnostics):
            return
        positions = self.positions(uri)
        items = [_diagnostic(uri, item, positions) for item in shown.diagnostics]
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, items, document.version))

    def _refresh_inlays(self) -> None:
        """Tell a client that wants to know it that delays may be others."""
        workspace = self.client_capabilities.workspace
        if workspace and workspace.inlay_hint and workspace.inlay_hint.refresh_support:
            self.workspace_inlay_hint_refresh(None)

    def forget(self, uri: str) -> None:
        """A document has been closed: nothing is wrong with it any more."""
        for known in (self._names, self._findings, self._drafts, self._shown):
            known.pop(uri, None)
        self.text_document_publish_diagnostics(types.PublishDiagnosticsParams(uri, []))

    def _if_open(self, uri: str) -> TextDocument | None:
        found: TextDocument | None = self.workspace.text_documents.get(uri)
        return found


def make_server() -> TideServer:
    """A server that answers all that it can; `start_io` lets it speak on standard input and output."""
    server = TideServer()
    _add_lifecycle(server)
    _add_questions(server)
    _add_changes(server)
    return server


def _add_lifecycle(server: TideServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_DID_OPEN)
    async def did_open(ls: TideServer, params: types.DidOpenTextDocumentParams) -> None:
        await ls.examine(params.text_document.uri, deeply=True)

    @server.feature(types.TEXT_DOCUMENT_DID_CHANGE)
    async def did_change(ls: TideServer, params: types.DidChangeTextDocumentParams) -> None:
        await ls.examine(params.text_document.uri, deeply=False)

    @server.feature(types.TEXT_DOCUMENT_DID_SAVE)
    async def did_save(ls: TideServer, params: types.DidSaveTextDocumentParams) -> None:
        await ls.examine(params.text_document.uri, deeply=True)

    @server.feature(types.TEXT_DOCUMENT_DID_CLOSE)
    def did_close(ls: TideServer, params: types.DidCloseTextDocumentParams) -> None:
        ls.forget(params.text_document.uri)


def _add_questions(server: TideServer) -> None:
    @server.feature(types.TEXT_DOCUMENT_HOVER)
    def hover(ls: TideServer, params: types.HoverParams) -> types.Hover | None:
        uri = params.text_document.uri
        found = hover_text(ls.names(uri), ls.findings(uri), ls.offset(uri, params.position))
        if found is None:
            return None
        text, span = found
        return types.Hover(types.MarkupContent(types.MarkupKind.Markdown, text), ls.range(uri, span))

    @server.feature(types.TEXT_DOCUMENT_DEFINITION)
    def definition(ls: TideServer, params: types.DefinitionParams) -> list[types.Location]:
        names, mention = _mention(ls, params)
        return _locations(ls, params, names.definitions(mention) if mention and mention.role != "variable" else [])

    @server.feature(types.TEXT_DOCUMENT_REFERENCES)
    def references(ls: TideServer, params: types.ReferenceParams) -> list[types.Location]:
        names, mention = _mention(ls, params)
        found = names.same(mention) if mention else []
        if not params.context.include_declaration:
            found = [item for item in found if item.role not in DEFINING]
        return _locations(ls, params, found)

    @server.feature(types.TEXT_DOCUMENT_DOCUMENT_SYMBOL)
    def symbols(ls: TideServer, params: types.DocumentSymbolParams) -> list[types.DocumentSymbol]:
        uri = params.text_document.uri
        names, positions = ls.names(uri), ls.positions(uri)
        return [
            types.DocumentSymbol(
                item.name,
                types.SymbolKind.Event if item.role in ("input", "alarm") else types.SymbolKind.Function,
                _range(positions, Span(names.raws[item.statement].start, names.raws[item.statement].end)),
                _range(positions, item.span),
                detail=item.role,
            )
            for item in names.mentions
            if item.role in ("input", "background", "calendar", "alarm", "head")
        ]

    @server.feature(types.TEXT_DOCUMENT_COMPLETION)
    def completion(ls: TideServer, params: types.CompletionParams) -> types.CompletionList:
        uri = params.text_document.uri
        found = proposals(ls.names(uri), ls.offset(uri, params.position))
        usable = [item for item in found if ls.takes_snippets or item.kind != "pattern"]
        return types.CompletionList(False, [_completion(item, ls.takes_snippets) for item in usable])

    @server.feature(types.TEXT_DOCUMENT_INLAY_HINT)
    def inlay_hints(ls: TideServer, params: types.InlayHintParams) -> list[types.InlayHint]:
        uri = params.text_document.uri
        positions = ls.positions(uri)
        begin, end = (positions.offset(at.line, at.character) for at in (params.range.start, params.range.end))
        return [
            types.InlayHint(
                types.Position(*positions.position(item.offset)), item.label, tooltip=item.why, padding_left=True
            )
            for item in inlays(ls.names(uri), ls.findings(uri))
            if begin <= item.offset <= end
        ]


def _add_changes(server: TideServer) -> None:
    @server.feature(
        types.TEXT_DOCUMENT_CODE_ACTION, types.CodeActionOptions(code_action_kinds=[types.CodeActionKind.QuickFix])
    )
    def actions(ls: TideServer, params: types.CodeActionParams) -> list[types.CodeAction]:
        uri = params.text_document.uri
        positions, text = ls.positions(uri), ls.document(uri).source
        begin, end = (positions.offset(at.line, at.character) for at in (params.range.start, params.range.end))
        found = [item for item in ls.shown(uri) if item.span.start <= end and begin <= item.span.end]
        return [_action(uri, item, positions) for finding in found for item in mendings(text, finding)]

    @server.feature(types.TEXT_DOCUMENT_PREPARE_RENAME)
    def prepare(ls: TideServer, params: types.PrepareRenameParams) -> types.PrepareRenamePlaceholder | None:
        _, mention = _mention(ls, params)
        if mention is None:
            return None
        return types.PrepareRenamePlaceholder(ls.range(params.text_document.uri, mention.span), mention.text)

    @server.feature(types.TEXT_DOCUMENT_RENAME)
    def renamed(ls: TideServer, params: types.RenameParams) -> types.WorkspaceEdit | None:
        uri = params.text_document.uri
        names, mention = _mention(ls, params)
        if mention is None:
            return None
        try:
            edits = rename(names, mention, params.new_name)
        except RenameError as error:
            raise JsonRpcInvalidParams(str(error)) from error
        positions = ls.positions(uri)
        return types.WorkspaceEdit({uri: [types.TextEdit(_range(positions, span), text) for span, text in edits]})

    @server.feature(types.TEXT_DOCUMENT_FORMATTING)
    def formatting(ls: TideServer, params: types.DocumentFormattingParams) -> list[types.TextEdit] | None:
        uri = params.text_document.uri
        before = ls.document(uri).source
        try:
            after = format_text(before)
        except ProgramError:
            return None  # its diagnostics say what is wrong
        except TidelogError as error:
            raise JsonRpcInvalidParams(str(error)) from error
        return [] if after == before else [types.TextEdit(ls.range(uri, Span(0, len(before))), after)]


_AtPosition = types.DefinitionParams | types.ReferenceParams | types.RenameParams | types.PrepareRenameParams


def _mention(ls: TideServer, params: _AtPosition) -> tuple[Names, Mention | None]:
    """The name at a request's position."""
    uri = params.text_document.uri
    names = ls.names(uri)
    return names, names.at(ls.offset(uri, params.position))


def _locations(ls: TideServer, params: _AtPosition, found: Sequence[Mention]) -> list[types.Location]:
    uri = params.text_document.uri
    positions = ls.positions(uri)
    return [types.Location(uri, _range(positions, item.span)) for item in found]


def _range(positions: Positions, span: Span) -> types.Range:
    return types.Range(types.Position(*positions.position(span.start)), types.Position(*positions.position(span.end)))


def _diagnostic(uri: str, item: Diagnostic, positions: Positions) -> types.Diagnostic:
    """A finding, its label and its remedy below its message, its notes as related places."""
    parts = [f"{item.message}: {item.label}" if item.label else item.message]
    parts += [f"help: {item.help}"] if item.help else []
    notes = [
        types.DiagnosticRelatedInformation(types.Location(uri, _range(positions, note.span)), note.label)
        for note in item.notes
    ]
    return types.Diagnostic(
        _range(positions, item.span),
        "\n".join(parts),
        _SEVERITIES[item.severity],
        item.code,
        source="tidelog",
        related_information=notes or None,
    )


def _action(uri: str, item: Mending, positions: Positions) -> types.CodeAction:
    edit = types.WorkspaceEdit({uri: [types.TextEdit(_range(positions, item.span), item.text)]})
    mended = [_diagnostic(uri, item.finding, positions)]
    return types.CodeAction(item.title, types.CodeActionKind.QuickFix, mended, is_preferred=True, edit=edit)


def _completion(item: Proposal, takes_snippets: bool) -> types.CompletionItem:
    is_snippet = takes_snippets and "$" in item.text
    return types.CompletionItem(
        item.label,
        kind=_KINDS[item.kind],
        detail=item.detail or None,
        documentation=types.MarkupContent(types.MarkupKind.Markdown, item.meaning) if item.meaning else None,
        insert_text=item.text if is_snippet else item.label,
        insert_text_format=types.InsertTextFormat.Snippet if is_snippet else types.InsertTextFormat.PlainText,
    )


def serve() -> None:
    """Answer on standard input and output until the client says that it is enough."""
    logging.getLogger("pygls").setLevel(logging.ERROR)
    make_server().start_io()
