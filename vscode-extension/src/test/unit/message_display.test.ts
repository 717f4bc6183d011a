// req: H9
import assert from "node:assert/strict";
import { test } from "node:test";
import { restorePrompt, displaySentMessage, displayLoggedMessage } from "../../chat/message_display";

const CONTEXT = { relative: (path: string) => path.replace("/home/ada/shop/", "") };
const CART = "file:///home/ada/shop/shop/my%20cart.py";

test("a message is displayed as written, with chips for its attachments", () => {
  const said = displaySentMessage([{ type: "file", uri: CART }, { type: "selection", uri: CART, startLine: 2, endLine: 5, text: "x" }, { type: "text", text: "Mend it." }], "all of it", CONTEXT);
  assert.deepEqual([said.text, said.chips.map(({ label }) => label)], ["Mend it.", ["shop/my cart.py", "shop/my cart.py:3-5"]]);
  assert.equal(said.chips[1]?.target, `${CART}#L3-L5`);
  assert.equal(said.more, "all of it", "the code that went along is folded");
});

test("a message with only text and files has no collapsed text", () => {
  assert.equal(displaySentMessage([{ type: "file", uri: CART }, { type: "text", text: "Look." }], "File: /x\n\nLook.", CONTEXT).more, "");
});

test("a command is displayed as typed, with its prompt folded", () => {
  const said = displaySentMessage([{ type: "command", name: "fix", arguments: "the unit" }], "Fix what is named above.", CONTEXT);
  assert.deepEqual([said.text, said.more], ["/fix the unit", "Fix what is named above."]);
});

test("a picture is shown", () => {
  const said = displaySentMessage([{ type: "image", mediaType: "image/png", data: "AAAA" }, { type: "text", text: "See." }], "See.", CONTEXT);
  assert.deepEqual([said.pictures, said.chips, said.more], [["data:image/png;base64,AAAA"], [], ""]);
});

test("paths and code in a stored message become chips again", () => {
  const said = displayLoggedMessage("File: /home/ada/shop/shop/cart.py\n\nSelected in /home/ada/shop/a.py, lines 3 to 4:\n```\none\n\ntwo\n```\n\nMend it.\n\nAll of it.", CONTEXT);
  assert.deepEqual(said.chips.map(({ label }) => label), ["shop/cart.py", "a.py:3-4"]);
  assert.equal(said.text, "Mend it.\n\nAll of it.");
});

test("a long stored message is folded, a short one is not", () => {
  const long = Array.from({ length: 30 }, (_, i) => `line ${i}`).join("\n");
  assert.deepEqual([displayLoggedMessage(long, CONTEXT).text, displayLoggedMessage(long, CONTEXT).more], ["line 0\nline 1\nline 2\n…", long]);
  assert.deepEqual(displayLoggedMessage("File: is a word here too", CONTEXT).text, "");
  assert.equal(displayLoggedMessage("Please look at File: x", CONTEXT).text, "Please look at File: x");
});

test("a message that returns to the prompt has its attachments again, not their text", () => {
  const block = "Selected in /home/ada/shop/shop/my cart.py, lines 3 to 4:\n```\none\ntwo\n```";
  const { text, attachments } = restorePrompt(`File: /home/ada/shop/shop/my cart.py\n\n${block}\n\nMend it.`, CONTEXT);
  assert.equal(text, "Mend it.");
  assert.deepEqual(attachments.map(({ label }) => label), ["shop/my cart.py", "shop/my cart.py:3-4"]);
  assert.deepEqual(attachments.map(({ part }) => part), [
    { type: "file", uri: "file:///home/ada/shop/shop/my%20cart.py" },
    { type: "selection", uri: "file:///home/ada/shop/shop/my%20cart.py", startLine: 2, endLine: 4, text: "one\ntwo" },
  ]);
});
