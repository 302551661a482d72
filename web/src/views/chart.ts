/** Curves by Observable Plot, with this page's type, width and names for those who do not see them. */

import * as Plot from "@observablehq/plot"
import { innerWidth } from "./dom"

export { Plot }

/** Draws into the element; `name` is what the picture is, in words. */
export function chart(into: HTMLElement, name: string, options: Plot.PlotOptions): void {
  const width = Math.max(260, Math.min(1056, innerWidth(into)))
  const drawn = Plot.plot({
    width,
    style: {
      background: "none",
      color: "currentColor",
      fontFamily: "var(--sans)",
      fontSize: "12px",
      overflow: "visible",
    },
    ...options,
  })
  const picture = drawn.tagName.toLowerCase() === "svg" ? drawn : drawn.querySelector("svg")
  picture?.setAttribute("role", "img")
  picture?.setAttribute("aria-label", name)
  // The picture has a name as a whole; groups without a role must not carry one.
  for (const group of picture?.querySelectorAll("g[aria-label]") ?? []) group.removeAttribute("aria-label")
  into.replaceChildren(drawn)
  keepInside(into)
}

/** Moves words that go beyond the figure back into it: how wide they are is known once they are drawn. */
function keepInside(figure: HTMLElement): void {
  const box = figure.getBoundingClientRect()
  for (const text of figure.querySelectorAll("svg text")) {
    const { left, right } = text.getBoundingClientRect()
    const shift = right > box.right ? Math.floor(box.right - right) : left < box.left ? Math.ceil(box.left - left) : 0
    if (shift !== 0) text.setAttribute("dx", String(shift))
  }
}

/** Whether the figure is so narrow that labels must give way. */
export function isNarrow(into: HTMLElement): boolean {
  return innerWidth(into) < 560
}
