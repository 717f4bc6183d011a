// A session in a git worktree: its changes are applied to a file with unsaved text. Then the list of running sessions,
// which includes a session of Neovim.
// req: H9, H23
import assert from "node:assert/strict";
import { play } from "./stage.mjs";

await play(async (actor) => {
  await actor.workbench.openFile("stock.py");
  for (const part of [works, brings, lists]) await part(actor);
}, { width: 1100, height: 800 });

/** The agent changes the worktree; the file with the user's unsaved text stays as it is. */
async function works(actor) {
  const { workbench } = actor;
  await workbench.eval(async (vscode) => {
    const edit = new vscode.WorkspaceEdit();
    edit.insert(vscode.window.activeTextEditor.document.uri, new vscode.Position(0, 0), "# mine\n");
    await vscode.workspace.applyEdit(edit);
  });
  await workbench.runCommand("agent-ls: New Session in a Git Worktree");
  const chat = await actor.chat();
  await chat.getByRole("heading", { name: "New session" }).waitFor();
  await actor.say("Tidy the count.");
  const question = await actor.asked("stock.py (worktree)");
  await question.getByRole("button", { name: "Allow Once" }).click();
  await chat.getByText("It is tidy.").first().waitFor();
  await actor.isIdle();
  await chat.getByText("changes that wait for you to apply").first().waitFor();
  assert.match(await workbench.text("stock.py"), /^# mine\n[^]*list\(stock\.values\(\)\)/);
  await actor.step("the worktree has changes");
}

async function brings(actor) {
  const { workbench } = actor;
  await workbench.runCommand("agent-ls: Apply the Changes of the Worktree");
  await actor.lens("agent 1/1", "Keep").waitFor();
  assert.match(await workbench.text("stock.py"), /^# mine\n[^]*sum\(stock\.values\(\)\)/);
  assert.equal(await workbench.eval((vscode) => vscode.window.activeTextEditor.document.isDirty), true, "nobody saved it");
  await actor.step("the changes as hunks");
  await actor.decide("agent 1/1", "Undo");
  await actor.until(async () => (await workbench.text("stock.py")).includes("list(stock.values())"), "the change to be undone");
}

/** The list has both sessions. The session of Neovim opens read-only. */
async function lists(actor) {
  const { workbench, page } = actor;
  await workbench.runCommand("agent-ls: Running Sessions…");
  const rows = page.locator(".quick-input-list .monaco-list-row");
  await rows.filter({ hasText: "Say hello." }).filter({ hasText: "Neovim" }).waitFor();
  await rows.filter({ hasText: "Tidy the count." }).filter({ hasText: "worktree" }).filter({ hasText: "this window" }).waitFor();
  await actor.step("the running sessions");
  await workbench.pick("Say hello.");
  const chat = await actor.chat();
  await chat.getByText("Hello from Neovim.").first().waitFor();
  await chat.getByRole("button", { name: "Take Over" }).waitFor();
  await actor.step("the session of Neovim");
}
