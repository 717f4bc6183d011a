// Parses a file reference in the chat: a path or a URI, with or without lines. Pure.

export interface Target {
  readonly name: string;
  /** First and last line, both inclusive, counted from 0. */
  readonly lines?: readonly [number, number];
}

const PLACED = /^(.*?)(?::(\d+)(?:-(\d+)|:\d+)?|#L(\d+)(?:-L?(\d+))?)$/s;

export function targetOf(text: string): Target {
  const [, name = text, first, last, firstL, lastL] = PLACED.exec(text) ?? [];
  const from = first ?? firstL;
  if (from === undefined) return { name: text };
  const start = Math.max(0, Number(from) - 1);
  const end = last ?? lastL;
  return { name, lines: [start, end === undefined ? start : Math.max(start, Number(end) - 1)] };
}
