/** What goes into attention: each word's vector, the row of its position, and their sum. */

import type { Layer } from "../core/attention"
import { plan, table } from "../core/encoding"
import { run, wordsOf } from "../core/experiment"
import { fixed } from "../core/numbers"
import type { State } from "../core/state"
import { wordVector } from "../core/words"
import { byId, el } from "./dom"
import { strip } from "./strip"
import type { View } from "./view"

const MOST_WORDS = 6
/** A word's numbers lie within sqrt(3), a row's within 1. */
const LARGEST = Math.sqrt(3) + 1
const TITLES = ["word", "+ position", "= what goes in"] as const

export function addingView(layer: Layer): View {
  return { keys: ["sentences", "colours"], draw: (state) => draw(state, layer) }
}

function draw(state: State, layer: Layer): void {
  const words = wordsOf(state.sentences[0])
  const shown = words.slice(0, MOST_WORDS)
  const rows = table(shown.length, plan(layer.dim))
  const { inputs } = run(layer, shown, true)
  const lines = shown.map((word, position) => {
    const strips = [
      wordVector(word, layer.dim),
      rows.slice(position * layer.dim, (position + 1) * layer.dim),
      inputs[position] as Float64Array,
    ]
    return el(
      "li",
      {},
      el("bdi", { class: "word" }, word),
      ...strips.map((values) => strip(values, LARGEST, state.colours)),
    )
  })
  const head = el(
    "li",
    { class: "sum-head", "aria-hidden": "true" },
    el("span"),
    ...TITLES.map((title) => el("span", {}, title)),
  )
  byId("sums").replaceChildren(...(shown.length === 0 ? [] : [head, ...lines]))
  byId("sums-caption").textContent =
    shown.length === 0
      ? "Your first sentence has no words to show."
      : `Your first sentence${words.length > shown.length ? `, its first ${shown.length} words` : ""}: ` +
        `the word's ${layer.dim} numbers, the ${layer.dim} numbers of its position by the paper's formula, whatever the settings, and their sums, ` +
        `which are what the layer above gets. All colours run from \u2212${fixed(LARGEST, 2)} to ${fixed(LARGEST, 2)}.`
}
