// What typing does to a text, from its changes. Pure.

/** A part of a text that typed letters replaced, by offsets. `original`: the text that was there before. */
export interface Region {
  readonly start: number;
  readonly end: number;
  readonly original: string;
}

/** A change of a text: `removed` characters at `offset` became `added`. */
export interface TextChange {
  readonly offset: number;
  readonly removed: number;
  readonly added: string;
}

/**
 * Returns the regions after a change of `text`. A change that touches a region belongs to it, as do Backspace and the new
 * indent of a line; other changes only move the regions behind them.
 */
export function grow(regions: readonly Region[], text: string, { offset, removed, added }: TextChange): Region[] {
  const end = offset + removed, by = added.length - removed;
  return regions.map((region) => {
    if (end < region.start) return { ...region, start: region.start + by, end: region.end + by };
    if (offset > region.end) return region;
    const start = Math.min(region.start, offset);
    return {
      start,
      end: Math.max(region.end, end) + by,
      original: text.slice(start, region.start) + region.original + text.slice(region.end, Math.max(region.end, end)),
    };
  });
}

/**
 * Returns what was typed into a region, as one line. The editor puts a closing bracket or quote behind the cursor unasked,
 * so the text ends at the cursor. A bracket that is typed onto selected text surrounds it.
 */
export function typedInto({ start, end, original }: Region, text: string, cursor: number): string {
  const now = text.slice(start, end);
  if (original !== "" && now.slice(1, -1) === original) return now.slice(0, 1);
  const typed = cursor >= start && cursor <= end ? text.slice(start, cursor) : now;
  return typed.replace(/\s*\n\s*/g, " ").trimStart();
}

/** Returns what was typed behind `seen` until the text of an input was `final`. Typing replaces a `draft`, which is selected. */
export function lateLetters(seen: string, final: string, draft: string): string {
  if (final === seen) return "";
  if (draft !== "" && seen === draft) return final;
  return final.startsWith(seen) ? final.slice(seen.length) : "";
}

/** Returns the typed part of a text that the editor inserted: of a pair of brackets or quotes, only the first. */
export function withoutClosing(added: string): string {
  return ["()", "[]", "{}", "<>", '""', "''", "``"].includes(added) ? added.slice(0, 1) : added;
}
