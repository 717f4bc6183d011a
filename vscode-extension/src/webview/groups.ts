// Collapses consecutive read-only calls into one line with the number of calls. A click expands the line.
import { h, icon, plural } from "./dom";

const FEW = 3; // minimum number of rows to collapse
type Kind = "read" | "search";

function formatSummary(kinds: readonly Kind[]): string {
  const count = (kind: Kind) => kinds.filter((each) => each === kind).length;
  const parts = [count("read") > 0 ? `Read ${plural(count("read"), "file")}` : "", count("search") > 0 ? `Searched ${plural(count("search"), "time")}` : ""];
  return parts.filter((part) => part !== "").join(", ").replace(/, S/, ", s");
}

function isThought(element: Element): boolean {
  return element.classList.contains("reasoning") && !element.classList.contains("open");
}

function kindOf(element: Element): Kind | undefined {
  const group = element instanceof HTMLElement ? element.dataset["reads"] : undefined;
  return group === "read" || group === "search" ? group : undefined;
}

/** Yields each run of at least FEW consecutive read-only calls, including finished reasoning between them. */
function* findRuns(content: Element): Generator<HTMLElement[]> {
  let run: HTMLElement[] = [];
  for (const element of [...content.children, undefined]) {
    if (element instanceof HTMLElement && (kindOf(element) || (run.length > 0 && isThought(element)))) {
      run.push(element);
      continue;
    }
    while (run.length > 0 && !kindOf(run.at(-1) ?? content)) run.pop();
    if (run.filter((each) => kindOf(each)).length >= FEW) yield run;
    run = [];
  }
}

export class Groups {
  constructor(private readonly expanded: Map<string, boolean>) {}

  /** Groups the rows in `content`. Call it again after rows were added. */
  arrange(content: Element): void {
    const heads = new Map([...content.querySelectorAll<HTMLElement>(":scope > .group")].map((head) => [head.dataset["group"], head]));
    for (const head of heads.values()) head.remove();
    for (const member of content.querySelectorAll(":scope > .grouped, :scope > .folded")) member.classList.remove("grouped", "folded");
    for (const run of findRuns(content)) {
      const key = `group:${run[0]?.dataset["id"] ?? ""}`;
      run[0]?.before(this.head(key, run, heads.get(key)));
    }
  }

  private head(key: string, run: readonly HTMLElement[], before: HTMLElement | undefined): HTMLElement {
    const isOpen = this.expanded.get(key) ?? false;
    const hadFocus = before !== undefined && before === document.activeElement;
    const label = formatSummary(run.flatMap((each) => kindOf(each) ?? []));
    const head = h("button", { type: "button", class: "group", "data-group": key, "aria-expanded": String(isOpen) }, icon(isOpen ? "chevron-down" : "chevron-right"), icon("search"), label);
    const show = (open: boolean) => {
      for (const member of run) {
        member.classList.add("grouped");
        member.classList.toggle("folded", !open);
      }
    };
    head.addEventListener("click", () => {
      const open = this.expanded.get(key) !== true;
      this.expanded.set(key, open);
      head.setAttribute("aria-expanded", String(open));
      head.querySelector(".codicon")?.classList.toggle("codicon-chevron-down", open);
      head.querySelector(".codicon")?.classList.toggle("codicon-chevron-right", !open);
      show(open);
    });
    show(isOpen);
    if (hadFocus) queueMicrotask(() => { head.focus(); });
    return head;
  }
}
