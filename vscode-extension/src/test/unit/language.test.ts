// req: T14
import assert from "node:assert/strict";
import { test } from "node:test";
import { golden } from "../support/golden";
import { type Hovers, convertActionEdits, convertActions, convertCalls, convertHovers } from "../../context/language_details";
import { type Edit, MAX_PLACES, type Span, convertLocations, convertEdits, convertSymbols } from "../../context/language_model";

const span = (line: number, from: number, to: number, last = line): Span => ({ start: { line, character: from }, end: { line: last, character: to } });
const A = "file:///w/a.ts";
const B = "file:///w/b.ts";

test("the answers are the golden messages", () => {
  const uri = "file:///home/ada/shop/shop/cart.py";
  const total = { name: "total", kind: 5, range: span(3, 2, 3, 4), selectionRange: span(3, 8, 13) };
  const cart = { name: "Cart", kind: 4, range: span(0, 0, 1, 5), selectionRange: span(0, 6, 10), children: [total] };
  const edit: Edit = { entries: () => [[uri, [{ range: span(3, 4, 9), newText: "sum_of" }]]] };
  const { answers } = golden("language.json") as { answers: Record<string, unknown> };
  const checkout = { name: "checkout", kind: 11, detail: "cart", uri, range: span(8, 0, 1, 12), selectionRange: span(8, 4, 12) };
  const imported: Edit = { entries: () => [[uri, [{ range: span(0, 0, 0), newText: "import shop\n" }]]] };
  assert.deepEqual({
    definition: convertLocations([{ uri, range: span(3, 4, 9) }]), symbols: convertSymbols([cart], uri), rename: convertEdits(edit, () => 7),
    hover: convertHovers([{ contents: [{ language: "python", value: "def total(self) -> int" }, "The price of all rows."] }]),
    calls: convertCalls([{ from: checkout, fromRanges: [span(9, 2, 7), span(11, 2, 7), span(11, 9, 12)] }]),
    actions: convertActions([
      { title: "Import Cart", kind: { value: "quickfix" }, isPreferred: true },
      { title: "Extract", kind: { value: "refactor.extract" }, disabled: { reason: "select an expression" } },
    ]),
    actionEdits: convertActionEdits({ title: "Import Cart", edit: imported, command: { title: "Organize", command: "python.organize" } }, () => 7),
  }, answers);
});

test("locations and location links give the same result, with the symbol's name if known", () => {
  const found = [
    { uri: A, range: span(1, 2, 5) },
    { targetUri: B, targetRange: span(3, 0, 1, 9), targetSelectionRange: span(3, 4, 7) },
    { targetUri: B, targetRange: span(8, 0, 2) },
  ];
  assert.deepEqual(convertLocations(found), {
    locations: [
      { uri: A, startLine: 1, startCharacter: 2, endLine: 1, endCharacter: 5 },
      { uri: B, startLine: 3, startCharacter: 4, endLine: 3, endCharacter: 7 },
      { uri: B, startLine: 8, startCharacter: 0, endLine: 8, endCharacter: 2 },
    ],
    truncated: false,
  });
  assert.deepEqual(convertLocations(undefined), { locations: [], truncated: false });
  const many = convertLocations(Array.from({ length: MAX_PLACES + 1 }, () => ({ uri: A, range: span(0, 0, 1) })));
  assert.deepEqual([many.locations.length, many.truncated], [MAX_PLACES, true]);
});

test("an outline is a flat list with the container of each symbol, and kinds counted from 1", () => {
  const total = { name: "total", kind: 5, range: span(1, 2, 3, 4), selectionRange: span(1, 6, 11), children: [] };
  const cart = { name: "Cart", kind: 4, range: span(0, 0, 1, 5), selectionRange: span(0, 6, 10), children: [total] };
  assert.deepEqual(convertSymbols([cart], A).symbols, [
    { name: "Cart", kind: 5, uri: A, startLine: 0, startCharacter: 6, endLine: 5, endCharacter: 1, depth: 0 },
    { name: "total", kind: 6, uri: A, startLine: 1, startCharacter: 6, endLine: 4, endCharacter: 3, depth: 1, container: "Cart" },
  ]);
  const named = { name: "add", kind: 11, containerName: "", location: { uri: B, range: span(2, 0, 3) } };
  assert.deepEqual(convertSymbols([named, { ...named, containerName: "Cart" }]).symbols.map(({ uri, kind, container }) => [uri, kind, container]), [
    [B, 12, undefined], [B, 12, "Cart"],
  ]);
  assert.equal(convertSymbols(Array.from({ length: MAX_PLACES + 1 }, () => named)).truncated, true);
  assert.deepEqual(convertSymbols(null), { symbols: [], truncated: false });
});

test("a rename has its edits with their versions, and its operations other than text changes", () => {
  const edit: Edit & { _allEntries(): unknown } = {
    entries: () => [[A, [{ range: span(0, 4, 9), newText: "sum" }]], [B, []]],
    _allEntries: () => [{ _type: 2 }, { _type: 1, from: A, to: B }, { _type: 3 }],
  };
  assert.deepEqual(convertEdits(edit, (uri) => (uri === A ? 7 : undefined)), {
    documents: [
      { uri: A, version: 7, edits: [{ startLine: 0, startCharacter: 4, endLine: 0, endCharacter: 9, newText: "sum" }] },
      { uri: B, edits: [] },
    ],
    fileOperations: [`${A} to ${B}`, "a notebook"],
  });
  assert.deepEqual(convertEdits(undefined, () => undefined), { documents: [], fileOperations: [] });
  const one = [{ range: span(0, 0, 1), newText: "" }];
  const huge: Edit = { entries: () => Array.from({ length: 1_001 }, () => [A, one] as const) };
  assert.throws(() => convertEdits(huge, () => undefined), /too many places/);
});

for (const [what, hovers, texts] of [
  ["nothing", undefined, []],
  ["an empty object", [{}], []],
  ["no contents", [null, { contents: null }], []],
  ["empty values", [{ contents: [null, null, "", { language: "ts", value: "" }, { value: "  " }] }], []],
  ["several servers, one with nothing", [{ contents: [] }, { contents: ["a"] }, { contents: { value: "b" } }], ["a", "b"]],
  ["a text and a language", [{ contents: ["a", { language: "php", value: "class A" }] }], ["a", "```php\nclass A\n```"]],
] as const satisfies readonly (readonly [string, Hovers, readonly string[]])[]) {
  test(`hovers of all forms are texts, without empty ones: ${what}`, () => { assert.deepEqual(convertHovers(hovers).texts, texts); });
}

test("actions of this extension are left out, and a command that is offered as an action has no edits", () => {
  const own = { title: "Fix with the agent", command: { title: "Fix with the agent", command: "agentLs.fix" } };
  const bare = { title: "Run it", command: "toy.run" };
  assert.deepEqual(convertActions([own, bare]).actions, [{ title: "Run it", kind: "", preferred: false }]);
  assert.deepEqual(convertActionEdits(bare, () => undefined), { documents: [], fileOperations: [], command: "Run it" });
  assert.deepEqual(convertActions(null), { actions: [] });
});
