// Requests of the server to this client, with the types of their answers. Types only.
// Written by `python -m tests.tools.wire_types` from the server's own types: do not edit.
import type { ActionEdits, AskedActionEdits, AskedActions, AskedCalls, AskedCheckTime, AskedDiagnostics, AskedNotebookEdit, AskedPosition, AskedRename, AskedSave, AskedSymbols, AskedTerminal, AskedTerminalRuns, CodeActions, CodeCalls, CodeLocations, CodeSymbols, DiagnosedFiles, Empty, HoverTexts, RenameEdits, Saved } from "./objects";

export interface ClientRequests {
  save: { readonly params: AskedSave; readonly result: Saved };
  checkTime: { readonly params: AskedCheckTime; readonly result: Empty };
  editNotebook: { readonly params: AskedNotebookEdit; readonly result: Empty };
  terminalOpen: { readonly params: AskedTerminal; readonly result: Empty };
  terminalRuns: { readonly params: AskedTerminalRuns; readonly result: Empty };
  definition: { readonly params: AskedPosition; readonly result: CodeLocations };
  references: { readonly params: AskedPosition; readonly result: CodeLocations };
  symbols: { readonly params: AskedSymbols; readonly result: CodeSymbols };
  rename: { readonly params: AskedRename; readonly result: RenameEdits };
  diagnostics: { readonly params: AskedDiagnostics; readonly result: DiagnosedFiles };
  hover: { readonly params: AskedPosition; readonly result: HoverTexts };
  implementations: { readonly params: AskedPosition; readonly result: CodeLocations };
  calls: { readonly params: AskedCalls; readonly result: CodeCalls };
  actions: { readonly params: AskedActions; readonly result: CodeActions };
  actionEdits: { readonly params: AskedActionEdits; readonly result: ActionEdits };
}
