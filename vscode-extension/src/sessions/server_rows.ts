// Rows of the list of MCP servers. Pure.
import type { McpServerInfo } from "../connection/protocol";

export type ServerSwitch = "on" | "off" | "restart";

const STATES: Readonly<Record<McpServerInfo["state"], string>> = {
  off: "off",
  unapproved: "not approved yet",
  denied: "you denied it",
  starting: "starting",
  running: "running",
  restarting: "starting again",
  login: "needs a login",
  failed: "failed",
  stopped: "stopped",
};

const ICONS: Readonly<Partial<Record<McpServerInfo["state"], string>>> = {
  running: "pass-filled", starting: "loading~spin", restarting: "loading~spin", login: "key", failed: "error",
};

function formatCount(n: number, noun: string): string {
  return `${n} ${noun}${n === 1 ? "" : "s"}`;
}

/** The detail is the server's error, else its command or address. */
export function serverRow(server: McpServerInfo): { readonly label: string; readonly description: string; readonly detail: string } {
  const offers = [[server.tools.length, "tool"], [server.prompts.length, "prompt"], [server.resources, "resource"]] as const;
  const counts = offers.filter(([n]) => n > 0).map(([n, noun]) => formatCount(n, noun));
  return {
    label: `$(${ICONS[server.state] ?? "circle-slash"}) ${server.name}`,
    description: [STATES[server.state], ...counts, server.source].join(" · "),
    detail: server.error ?? server.target,
  };
}

/** Returns the actions that the user can choose for a server in its state. */
export function switchesOf({ state }: McpServerInfo): readonly ServerSwitch[] {
  return state === "off" || state === "denied" || state === "unapproved" || state === "stopped" ? ["on"] : ["restart", "off"];
}
