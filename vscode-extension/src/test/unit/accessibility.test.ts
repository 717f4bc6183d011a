// req: H9
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { test } from "node:test";
import type { AxeResults } from "axe-core";
import { applyEvent, newSnapshot } from "../../snapshot/snapshot";
import { sessionEvents } from "../support/golden";
import { WebviewPage } from "../support/webview_page";

const AXE = readFileSync(createRequire(`${process.cwd()}/`).resolve("axe-core"), "utf8");

// jsdom has no layout and no colours, so the contrast is not checked.
const OPTIONS = { rules: { "color-contrast": { enabled: false } } };

for (const until of ["user_input", "approval_requested", "file_change", "steering_queued", "session_end"]) {
  test(`axe finds nothing serious when ${until} was the last event`, async (t) => {
    const page = new WebviewPage();
    t.after(() => { page.close(); });
    const s = newSnapshot();
    for (const event of sessionEvents.slice(0, sessionEvents.findIndex(({ kind }) => kind === until) + 1)) applyEvent(s, event);
    page.show(s);
    page.dom.window.eval(AXE);
    const { axe } = page.dom.window as unknown as { axe: { run(options: unknown): Promise<AxeResults> } };
    const { violations } = await axe.run(OPTIONS);
    assert.deepEqual(Array.from(violations, ({ id, impact, nodes }) => `${impact} ${id}: ${nodes.map(({ html }) => html).join(" ")}`), []);
  });
}
