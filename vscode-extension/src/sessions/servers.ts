// Lists the MCP servers of the current session with their state, tools and errors, and switches them on and off.
import * as vscode from "vscode";
import type { McpServerInfo } from "../connection/protocol";
import type { Sessions } from "./session";
import { type ServerSwitch, serverRow, switchesOf } from "./server_rows";

const ICONS: Readonly<Record<ServerSwitch, string>> = { on: "play", off: "debug-stop", restart: "debug-restart" };
const TIPS: Readonly<Record<ServerSwitch, string>> = { on: "Switch the server on", off: "Switch the server off, also for later sessions", restart: "Restart the server" };

interface Row extends vscode.QuickPickItem {
  readonly server?: McpServerInfo;
}

function button(to: ServerSwitch): vscode.QuickInputButton {
  return { iconPath: new vscode.ThemeIcon(ICONS[to]), tooltip: TIPS[to] };
}

/** Shows the servers in a list. Choosing a server shows its tools. Its buttons switch it on or off, or restart it. */
export async function showServers(sessions: Sessions): Promise<void> {
  const pick = vscode.window.createQuickPick<Row>();
  const load = async (): Promise<boolean> => {
    const answer = await sessions.requestForCurrent("agent/mcpServers", ({ sessionId }) => ({ sessionId }));
    if (!answer) return false;
    const { servers, problems } = answer;
    pick.placeholder = servers.length > 0 ? "MCP servers of this session" : "This session has no MCP server. Servers start with the first message; add them in the setting agentLs.mcp";
    pick.items = [
      ...servers.map((server) => ({ ...serverRow(server), server, buttons: switchesOf(server).map(button) })),
      ...problems.map((problem) => ({ label: "$(warning) Left out", detail: problem })),
    ];
    return true;
  };
  if (!await load()) return;
  pick.matchOnDetail = true;
  pick.onDidTriggerItemButton(async ({ item, button: pressed }) => {
    const to = item.server && switchesOf(item.server).find((each) => TIPS[each] === pressed.tooltip);
    if (!item.server || !to) return;
    const { name } = item.server;
    pick.busy = true;
    await sessions.requestForCurrent("agent/mcpSwitch", (change) => ({ ...change, name, to }));
    await load();
    pick.busy = false;
  });
  pick.onDidAccept(async () => {
    const [chosen] = pick.selectedItems;
    pick.hide();
    if (chosen?.server) await showTools(chosen.server);
  });
  pick.onDidHide(() => { pick.dispose(); });
  pick.show();
}

async function showTools(server: McpServerInfo): Promise<void> {
  const rows = [
    ...server.tools.map((name) => ({ label: `$(tools) ${name}` })),
    ...server.prompts.map((name) => ({ label: `$(comment) /${server.name}:${name}` })),
  ];
  const placeHolder = rows.length > 0 ? `Tools and prompts of ${server.name}` : `${server.name} offers nothing now${server.error === undefined ? "" : `: ${server.error}`}`;
  await vscode.window.showQuickPick(rows, { placeHolder });
}
