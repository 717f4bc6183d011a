// Example prompts for a project, and the list of recent sessions. Pure.
export interface Project {
  /** Display name of the active file; "" if there is none. */
  readonly file: string;
  readonly hasTests: boolean;
  readonly hasGit: boolean;
  readonly hasReadme: boolean;
}

export interface Recent {
  readonly id: string;
  readonly title: string;
  readonly updatedMs: number;
}

const EXAMPLES = 3;
const KEPT = 6;
const FRESH_MS = 60_000; // if only the time of a session has changed, it is stored at most this often

export function examplesFor({ file, hasTests, hasGit, hasReadme }: Project): string[] {
  const all = [
    file !== "" ? `Explain what ${file} does and how it is used.` : "Explain how this project is organised and where to start reading.",
    hasTests ? "Run the tests and fix what fails." : `Write tests for ${file === "" ? "the most important module" : file}.`,
    ...(hasGit ? ["Review my uncommitted changes and point out problems."] : []),
    hasReadme ? "Check that the README still matches the code, and correct it." : "Write a README for this project.",
  ];
  return all.slice(0, EXAMPLES);
}

/** Returns the list with the session `now` at its start; undefined if the list need not be stored again. */
export function withRecent(recents: readonly Recent[], now: Recent): Recent[] | undefined {
  const [first] = recents;
  if (first?.id === now.id && first.title === now.title && now.updatedMs - first.updatedMs < FRESH_MS) return undefined;
  return [now, ...recents.filter(({ id }) => id !== now.id)].slice(0, KEPT);
}
