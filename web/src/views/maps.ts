/** Who looks at whom: the attention weights of each head, for both sentences, with positions. */

import type { Run } from "../core/experiment"
import { fixed } from "../core/numbers"
import { colourOf, inkOn } from "./colour"
import { el } from "./dom"

const MOST_WORDS = 8

/** Each head as a table of weights; the first words only. */
export function maps(into: HTMLElement, runs: readonly [Run, Run], colours: string): void {
  const drawn = runs.flatMap((run, sentence) =>
    run.words.length === 0 ? [] : run.weights.map((weights, head) => headTable(run, weights, sentence, head, colours)),
  )
  const cut = runs.some((run) => run.words.length > MOST_WORDS)
  into.replaceChildren(
    el(
      "p",
      { class: "small" },
      "With the encoding added. Each row says how one word divides its attention among all words; a full row sums to 1. " +
        (cut ? `Only the first ${MOST_WORDS} words are shown.` : ""),
    ),
    el("div", { class: "map-grid" }, ...drawn),
  )
}

function headTable(
  run: Run,
  weights: readonly Float64Array[],
  sentence: number,
  head: number,
  colours: string,
): HTMLElement {
  const words = run.words.slice(0, MOST_WORDS)
  const rows = words.map((word, query) =>
    el(
      "tr",
      {},
      el("th", { scope: "row" }, el("bdi", {}, word)),
      ...words.map((_, key) => {
        const weight = weights[query]?.[key] as number
        const style = `background: ${colourOf(2 * weight - 1, colours)}; color: ${inkOn(2 * weight - 1, colours)}`
        return el("td", { style }, fixed(weight, 2))
      }),
    ),
  )
  const head0 = el("tr", {}, el("td", {}), ...words.map((word) => el("th", { scope: "col" }, el("bdi", {}, word))))
  return el(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": `Sentence ${sentence + 1}, head ${head + 1}` },
    el(
      "table",
      { class: "map" },
      el("caption", {}, `sentence ${sentence + 1}, head ${head + 1}`),
      el("tbody", {}, head0, ...rows),
    ),
  )
}
