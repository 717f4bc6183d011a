// Labels of the rows of a guided review. Pure.
import { basename } from "node:path";
import type { GuidedRow } from "./guide";
import { formatCount } from "./words";

type State = GuidedRow["row"]["state"];

const ICONS: Readonly<Record<State, string>> = { notLooked: "circle-filled", looked: "circle-outline", kept: "check", undone: "discard" };
const STATES: Readonly<Record<State, string>> = { notLooked: "not looked at", looked: "looked at", kept: "kept", undone: "undone" };

export function iconOf({ row }: GuidedRow): string {
  return ICONS[row.state];
}

export function titleOf({ row }: GuidedRow): string {
  return row.title || "A change";
}

/** Describes where a row is, and why it deserves a second look. */
export function describeRow({ row, hunks }: GuidedRow): string {
  const [first] = hunks;
  const place = first === undefined ? "" : row.kind === "change" ? `${basename(first.uri)}:${first.first + 1}` : formatCount(hunks.length, "place");
  return [place, ...row.marks.map(({ text }) => text)].filter(Boolean).join(" · ");
}

/** Returns the whole row for a tooltip or a screen reader. */
export function spellRow(each: GuidedRow): string {
  return [titleOf(each), STATES[each.row.state], describeRow(each)].filter(Boolean).join(", ");
}
