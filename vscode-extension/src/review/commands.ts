// The commands and views of the review.
import * as vscode from "vscode";
import type { Ctx } from "../ctx";
import { ReviewActions } from "./actions";
import { LineAuthors } from "./blame";
import { HunkLenses } from "./codelens";
import { HunkComments } from "./comments";
import { ReviewGuide } from "./guide";
import { Comparison } from "./compare";
import { Decorations } from "./decorations";
import { OwnText } from "./own_text";
import { SideTexts } from "./sides";
import type { ReviewStore } from "./store";
import { ChangesTree } from "./tree";
import type { Node } from "./tree_model";

type Table = Readonly<Record<string, (argument?: unknown) => unknown>>;

export class ReviewCommands implements vscode.Disposable {
  readonly actions: ReviewActions;
  readonly commands: Table;
  readonly comments: HunkComments;
  private readonly parts: readonly { dispose(): void }[];

  constructor({ extension, sessions, client }: Ctx, store: ReviewStore) {
    const authors = new LineAuthors(client);
    const guide = new ReviewGuide(client, sessions, store);
    const actions = new ReviewActions(store, sessions, guide);
    const comments = new HunkComments(store, sessions, actions);
    const comparison = new Comparison(store);
    const ownText = new OwnText(sessions);
    const tree = new ChangesTree(extension.workspaceState, store, sessions, guide);
    this.actions = actions;
    this.comments = comments;
    this.parts = [authors, guide, comments, comparison, ownText, tree, new SideTexts(store, (uri) => client.textOf(uri)), new Decorations(store), new HunkLenses(store)];

    const comment = async (argument?: unknown) => {
      const hunk = actions.findHunk(argument);
      if (!hunk) return;
      await actions.show(hunk);
      await comments.open(hunk);
    };
    const compare = async (argument?: unknown) => {
      const hunk = actions.findHunk(argument);
      if (hunk) await comparison.file(hunk.uri, hunk);
    };
    const edit = async (argument?: unknown) => {
      const hunk = actions.findHunk(argument);
      if (hunk?.state === "proposed") await ownText.open(hunk);
    };
    const judge = (verdict: "keep" | "undo") => (argument?: unknown) => actions.judgeHunk(verdict, argument);
    const reply = (argument: unknown) => argument as vscode.CommentReply;
    this.commands = {
      keepHunk: judge("keep"),
      undoHunk: judge("undo"),
      keepSelection: () => actions.judgeSelection("keep"),
      undoSelection: () => actions.judgeSelection("undo"),
      keepNode: judge("keep"),
      undoNode: judge("undo"),
      acceptNode: judge("keep"),
      rejectNode: judge("undo"),
      showHunk: (argument) => actions.showHunk(argument),
      commentHunk: comment,
      compareHunk: compare,
      compareFile: (node) => comparison.file(fileOf(node)),
      compareAll: () => comparison.all(),
      editProposal: edit,
      acceptOwnText: () => ownText.accept(),
      keepFile: () => actions.judgeFile("keep"),
      undoFile: () => actions.judgeFile("undo"),
      acceptFile: () => actions.judgeFile("keep"),
      rejectFile: () => actions.judgeFile("undo"),
      keepAll: () => actions.judgeAll("keep"),
      undoAll: () => actions.judgeAll("undo"),
      nextHunk: (argument) => actions.goToChange(1, argument),
      previousHunk: (argument) => actions.goToChange(-1, argument),
      commentKeep: (argument) => comments.judge("keep", reply(argument)),
      commentUndo: (argument) => comments.judge("undo", reply(argument)),
      commentAccept: (argument) => comments.judge("keep", reply(argument)),
      commentReject: (argument) => comments.judge("undo", reply(argument)),
      commentAsk: (argument) => comments.ask(reply(argument)),
      blameLine: () => authors.showLine(),
      blameLines: () => authors.toggle(),
      guidedReview: () => tree.guided(),
      groupByTurn: () => tree.group("turn"),
      groupByFile: () => tree.group("file"),
      groupByReadingOrder: () => tree.group("guide"),
      groupByReadingOrderOfTurn: () => tree.listNewestTurn(),
    };
  }

  dispose(): void {
    for (const part of this.parts) part.dispose();
  }
}

/** The file of a tree node; undefined means the active editor. */
function fileOf(argument: unknown): string | undefined {
  const node = argument as Partial<Node> | undefined;
  if (node?.kind === "file") return node.uri;
  return node?.kind === "hunk" ? node.hunk?.uri : undefined;
}
