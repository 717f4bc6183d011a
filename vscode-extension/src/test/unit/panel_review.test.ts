// req: H9
import assert from "node:assert/strict";
import { before, test } from "node:test";
import { setImmediate } from "node:timers/promises";
import { JSDOM } from "jsdom";
import { ReviewDialog, inReadingOrder, runsOf } from "../../browser/review";
import type { GuideRow } from "../../connection/protocol";
import type { Hunk } from "../../snapshot/items";
import { newSnapshot } from "../../snapshot/snapshot";
import type { Sessions } from "../../sessions/session";
import { FakeConnection } from "../support/fake_connection";
import { hunk } from "../support/hunks";

before(() => {
  const { window } = new JSDOM("");
  Object.assign(window.HTMLDialogElement.prototype, { showModal(this: HTMLDialogElement) { this.open = true; } });
  Object.assign(window.Element.prototype, { scrollIntoView: () => undefined });
  Object.assign(globalThis, { document: window.document });
});

/** An open dialog over these hunks. `guide` is what the server answers; `change` replaces the hunks. */
function dialogOf(hunks: readonly Hunk[], guide: () => Promise<readonly string[]>) {
  const snapshot = newSnapshot();
  let tell = () => undefined as unknown;
  const change = (now: readonly Hunk[]) => {
    snapshot.hunks.clear();
    for (const each of now) snapshot.hunks.set(each.id, each);
    tell();
  };
  change(hunks);
  const rows = async () => (await guide()).map((id) => ({ hunkIds: [id], title: "", marks: [] }) as unknown as GuideRow);
  const connection = new FakeConnection({ "agent/hunks": async () => ({ files: [], guide: await rows() }) });
  const sessions = { snapshot, currentId: "s1", listen: (listener: () => void) => { tell = listener; } };
  const dialog = new ReviewDialog(sessions as unknown as Sessions, connection, (path) => path);
  const shown = () => [...document.querySelectorAll<HTMLElement>("#review-dialog .change")].map(({ dataset }) => dataset["hunk"]);
  const focused = () => document.activeElement?.closest<HTMLElement>(".change")?.dataset["hunk"];
  document.body.replaceChildren(document.body.lastElementChild ?? "");
  return { dialog, change, shown, focused };
}

const HUNKS = [hunk("a1", 0, 1), hunk("a2", 5, 6), hunk("b1", 0, 1, { uri: "file:///b" })];
const ids = (hunks: readonly { id: string }[]) => hunks.map(({ id }) => id);

test("changes are in reading order, and unknown ones come last", () => {
  assert.deepEqual(ids(inReadingOrder(HUNKS, ["b1", "a2"])), ["b1", "a2", "a1"]);
  assert.deepEqual(ids(inReadingOrder(HUNKS, [])), ["a1", "a2", "b1"]);
});

test("a file has a heading for each run of its changes", () => {
  assert.deepEqual(runsOf(inReadingOrder(HUNKS, ["a1", "b1", "a2"])).map(ids), [["a1"], ["b1"], ["a2"]]);
  assert.deepEqual(runsOf(HUNKS).map(ids), [["a1", "a2"], ["b1"]]);
  assert.deepEqual(runsOf([]), []);
});

test("no change is displayed before its place is known", async () => {
  let answer: (ids: readonly string[]) => void = () => undefined;
  const { dialog, shown, focused } = dialogOf(HUNKS, () => new Promise((done) => { answer = done; }));
  dialog.show("a1");
  await setImmediate();
  assert.deepEqual(shown(), []);
  answer(["b1", "a2", "a1"]);
  await setImmediate();
  assert.deepEqual(shown(), ["b1", "a2", "a1"]);
  assert.equal(focused(), "a1");
});

test("a change keeps its place and its focused button while the dialog is open", async () => {
  const guides = [["a2", "b1"], ["a1", "b1", "a2"], ["b1", "a1"]];
  const { dialog, change, shown, focused } = dialogOf(HUNKS.slice(1), () => Promise.resolve(guides.shift() ?? []));
  dialog.show();
  await setImmediate();
  document.querySelectorAll<HTMLElement>('[data-hunk="a2"] button')[1]?.focus();
  change(HUNKS);
  await setImmediate();
  assert.deepEqual(shown(), ["a2", "b1", "a1"]);
  assert.equal(focused(), "a2");
  assert.match(document.activeElement?.textContent ?? "", /Undo/);
  change(HUNKS.filter(({ id }) => id !== "a2"));
  await setImmediate();
  assert.deepEqual(shown(), ["b1", "a1"]);
  assert.equal(focused(), "b1");
});
