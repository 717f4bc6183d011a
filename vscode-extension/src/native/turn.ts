// Runs one turn for another chat of the editor: sends a message to a session of this window, reports progress until the
// turn ends, and returns the result. Does not depend on the editor.
import type { ApprovalItem, FileItem, Item, ToolItem } from "../snapshot/items";
import type { InputPart } from "../connection/protocol";
import type { Change } from "../sessions/interfaces";
import type { Sessions } from "../sessions/session";

/** Displays the progress of a turn. */
export interface TurnView {
  showText(words: string): void;
  showTool(item: ToolItem): void;
  showFile(item: FileItem): void;
  showApproval(item: ApprovalItem): void;
  showProblem(words: string): void;
}

export interface TurnEnd {
  readonly sessionId: string;
  readonly text: string;
  readonly files: readonly FileItem[];
}

/** VS Code's cancellation token; it is cancelled when the user stops the answer. */
export interface Stop {
  readonly isCancellationRequested: boolean;
  onCancellationRequested(listener: () => void): { dispose(): void };
}

/** Opens the session of an earlier turn, or creates one. Returns its id; undefined if it failed and showed an error. */
export async function openSession(sessions: Sessions, id: string | undefined): Promise<string | undefined> {
  const isOpen = id === undefined ? await sessions.create() : id === sessions.currentId || (await sessions.open(id));
  return isOpen ? sessions.currentId : undefined;
}

/** Runs a turn in the displayed session. Ends early if the user displays another session. */
export async function runTurn(sessions: Sessions, input: readonly InputPart[], view: TurnView, stop: Stop): Promise<TurnEnd | undefined> {
  const { snapshot, currentId: sessionId } = sessions;
  if (sessionId === undefined) return undefined;
  const turn = new Turn(snapshot.first + snapshot.items.length, view);
  let finish: () => void = () => undefined;
  const ended = new Promise<void>((resolve) => { finish = resolve; });
  const take = (change: Change) => {
    if (sessions.currentId !== sessionId || change.forgotten === true) finish();
    else if (change.sessionId === sessionId) {
      turn.report(sessions.snapshot.items);
      if (change.event?.kind === "processing_end" && turn.hasBegun) finish();
    }
  };
  const listening = [sessions.listen(take), stop.onCancellationRequested(() => { void sessions.interrupt(); })];
  try {
    if (!(await sessions.submit(input, snapshot.state === "PROCESSING" ? "queue" : "send"))) {
      turn.report(sessions.snapshot.items);
      return undefined;
    }
    await ended;
    return { sessionId, text: turn.text, files: turn.files };
  } finally {
    for (const each of listening) each.dispose();
  }
}

/** Reports each item of a turn once, and texts as they grow. */
class Turn {
  hasBegun = false;
  text = "";
  readonly files: FileItem[] = [];
  private readonly reported = new Set<string>();
  private readonly lengths = new Map<string, number>();

  constructor(
    private readonly from: number,
    private readonly view: TurnView,
  ) {}

  report(items: readonly Item[]): void {
    const own = items.filter(({ index, agentId }) => index >= this.from && agentId === undefined);
    for (const item of own) this.take(item);
    for (const item of own) if (item.kind === "text") this.text = item.part.text;
  }

  private take(item: Item): void {
    if (item.kind === "user") this.hasBegun = true;
    else if (item.kind === "text") this.reportText(item.id, item.part.text);
    else if (this.reported.has(item.id) || (item.kind === "tool" && item.status === "writing")) return;
    else if (item.kind === "tool") this.view.showTool(item);
    else if (item.kind === "file") this.addFile(item);
    else if (item.kind === "approval" && item.status === "pending") this.view.showApproval(item);
    else if (item.kind === "notice" && item.level === "error") this.view.showProblem(item.text);
    this.reported.add(item.id);
  }

  private addFile(item: FileItem): void {
    this.files.push(item);
    this.view.showFile(item);
  }

  private reportText(id: string, text: string): void {
    const sent = this.lengths.get(id);
    // Put an empty line between two text parts.
    const more = sent === undefined && this.lengths.size > 0 ? `\n\n${text}` : text.slice(sent ?? 0);
    if (text.length > (sent ?? 0)) this.view.showText(more);
    if (text !== "") this.lengths.set(id, text.length);
  }
}
