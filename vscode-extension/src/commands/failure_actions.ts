// Actions for the user after a failure, by its kind. Pure.

/** `sendAgain`: sends the prompt, to which the failed message was returned. */
export type Action = "setKey" | "retry" | "continue" | "manageTrust" | "chooseModel" | "sendAgain" | "choosePython" | "showLog";

const BY_KIND: Readonly<Record<string, readonly Action[]>> = {
  authentication: ["setKey", "retry"],
  configuration: ["setKey", "chooseModel", "retry"],
  access_denied: ["chooseModel", "setKey", "retry"],
  not_found: ["chooseModel", "retry"],
  quota: ["retry", "setKey", "chooseModel"],
  stream: ["continue"],
  untrusted: ["manageTrust"],
  set_up: ["sendAgain", "choosePython", "showLog"],
  no_server: ["sendAgain", "showLog"],
};

/** `given`: the server's recommended action; one of a newer server may be unknown here. */
export function actionsOf(kind: string, isRetryable: boolean, given = ""): readonly Action[] {
  const known = BY_KIND[kind] ?? (isRetryable ? ["retry" as const] : []);
  const first = WIRE.find((each) => each === given);
  return first === undefined ? known : [first, ...known.filter((each) => each !== first)];
}

const WIRE: readonly Action[] = ["setKey", "retry", "continue", "manageTrust", "chooseModel"];

/** Drops hints that name protocol methods, which are for programs and not for users. */
export function hintForPeople(hint: string | undefined): string {
  return hint === undefined || /\bagent\/\w+/.test(hint) ? "" : hint;
}
