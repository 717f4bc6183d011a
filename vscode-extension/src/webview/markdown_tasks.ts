// Markdown extension: renders list items that begin with [ ] or [x] as task lists.
import type MarkdownIt from "markdown-it";

const TASK = /^\[([ xX])\]\s+/;

export function addTaskLists(md: MarkdownIt): void {
  md.core.ruler.push("tasks", ({ tokens, Token: Make }) => {
    tokens.forEach((block, i) => {
      const [first] = block.children ?? [];
      const item = tokens[i - 2];
      if (block.type !== "inline" || item?.type !== "list_item_open" || first?.type !== "text") return;
      const found = TASK.exec(first.content);
      if (!found) return;
      first.content = first.content.slice(found[0].length);
      const box = new Make("task", "", 0);
      box.meta = found[1] !== " ";
      block.children?.unshift(box);
      item.attrJoin("class", "task");
    });
  });
  md.renderer.rules["task"] = (tokens, index) => {
    const isDone = tokens[index]?.meta === true;
    return `<span class="codicon codicon-${isDone ? "pass-filled" : "circle-large-outline"}" role="img" aria-label="${isDone ? "done" : "to do"}"></span>`;
  };
}
