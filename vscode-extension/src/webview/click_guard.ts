// Delays redraws while a mouse button is pressed, so that a click reaches the element on which it began.

const CLICKED = "button, summary, a, label, select, input, [role=option], [data-open], [data-link]";

export class ClickGuard {
  private isDown = false;
  private readonly drawQueue: (() => void)[] = [];

  constructor(page: Window) {
    // Ignore other targets such as a scrollbar, which sends no pointerup.
    page.addEventListener("pointerdown", ({ target }) => {
      if (target instanceof Element && target.closest(CLICKED) !== null) this.isDown = true;
      else this.release();
    }, true);
    for (const name of ["pointerup", "pointercancel"]) page.addEventListener(name, () => { this.release(); }, true);
    page.addEventListener("blur", () => { this.release(); });
    page.addEventListener("pointermove", ({ buttons }) => { if (buttons === 0) this.release(); }, true);
  }

  /** Draws now, or if a mouse button is pressed, after the click. Keeps the order of the calls. */
  drawAfterClick(draw: () => void): void {
    if (this.isDown || this.drawQueue.length > 0) this.drawQueue.push(draw);
    else draw();
  }

  private release(): void {
    if (!this.isDown) return;
    this.isDown = false;
    // Wait for the click event, which follows pointerup.
    setTimeout(() => {
      while (!this.isDown && this.drawQueue.length > 0) this.drawQueue.shift()?.();
    }, 0);
  }
}
