// Actions that are offered to the user after a failure, depending on its kind. Pure.

/** `sendAgain` sends the prompt. A message that could not be sent is restored to the prompt. */
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

/** `given` is the action that the server recommends. It is ignored if this version does not know it. */
export function actionsOf(kind: string, isRetryable: boolean, given = ""): readonly Action[] {
  const known = BY_KIND[kind] ?? (isRetryable ? ["retry" as const] : []);
  const first = WIRE.find((each) => each === given);
  return first === undefined ? known : [first, ...known.filter((each) => each !== first)];
}

const WIRE: readonly Action[] = ["setKey", "retry", "continue", "manageTrust", "chooseModel"];

/** Returns "" for a hint that names a protocol method, because such hints are for programs and not for users. */
export function hintForPeople(hint: string | undefined): string {
  return hint === undefined || /\bagent\/\w+/.test(hint) ? "" : hint;
}
