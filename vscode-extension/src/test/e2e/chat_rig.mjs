// Opens the chat in a real workbench on the scripted server. AGENT_LS_VSCODE_DRIVER names the driver of the workbench.
import fs from "node:fs";
import os from "node:os";
import path from "node:path";
import { pathToFileURL } from "node:url";

const driver = process.env.AGENT_LS_VSCODE_DRIVER;

/** Runs `test` with a workbench and its chat; exits with 1 when it fails, and says when there is no driver. */
export async function withChat({ items = 0, settings = {} }, test) {
  if (!driver) {
    console.log("skipped: AGENT_LS_VSCODE_DRIVER names no driver");
    return;
  }
  const { startServer, openWorkbench } = await import(pathToFileURL(driver).href);
  const base = fs.mkdtempSync(path.join(os.tmpdir(), "agent-ls-chat-"));
  const shots = process.env.AGENT_LS_SHOTS ?? path.join(base, "shots");
  const project = path.join(base, "shop");
  fs.mkdirSync(path.join(project, "shop"), { recursive: true });
  fs.writeFileSync(path.join(project, "shop/cart.py"), "def total(prices):\n    return sum(prices)\n");
  const command = [process.execPath, path.join(import.meta.dirname, "scripted_server.mjs")];
  fs.mkdirSync(path.join(base, "rig/data/Machine"), { recursive: true });
  fs.writeFileSync(path.join(base, "rig/data/Machine/settings.json"), JSON.stringify({ "agentLs.command": command }));
  const env = { SCRIPT_ITEMS: String(items), SCRIPT_STATE: path.join(base, "draft.json") };
  const server = await startServer({ dir: path.join(base, "rig"), vsix: [process.argv[2]], settings, env });
  let wb;
  try {
    wb = await openWorkbench(server, { folder: project });
    await wb.runCommand("agent-ls: Open Chat");
    const chat = () => wb.webview("agent-ls.agent-ls", { select: "#composer textarea" });
    const shot = (name) => wb.screenshot(path.join(shots, `${name}.png`));
    await test({ wb, chat, shot, project });
    console.log(`passed; pictures in ${shots}`);
  } catch (error) {
    process.exitCode = 1;
    console.error(error);
    if (wb) await wb.screenshot(path.join(shots, "failure.png"));
    for (const [name, log] of Object.entries(server.logs())) if (/agent-ls|exthost/.test(name)) console.error(name, log.slice(-2000));
  } finally {
    await wb?.close();
    await server.stop();
  }
}
