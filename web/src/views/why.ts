/** What the base does, measured; and how word and position share one vector. */

import { plan, similarity, table } from "../core/encoding"
import { overlap, wordsOf } from "../core/experiment"
import { nearest } from "../core/measures"
import { fixed, grouped, short } from "../core/numbers"
import type { State } from "../core/state"
import { byId, el, headings, row } from "./dom"
import type { View } from "./view"

const BASES = [2, 10, 100, 10_000, 1_000_000]
const MOST_ROWS = 512
const MOST_DIM = 128

export function whyView(): View {
  return {
    keys: ["dim", "base", "length", "sentences"],
    draw: (state) => {
      drawBases(state)
      drawAdding(state)
    },
  }
}

function drawBases(state: State): void {
  const dim = Math.min(MOST_DIM, state.dim)
  const rows = Math.min(MOST_ROWS, Math.max(2, state.length))
  const bases = [...new Set([...BASES, state.base])].sort((a, b) => a - b)
  const lines = bases.map((base) => {
    const made = plan(dim, { base })
    const { wavelengths } = made.ladder
    const { distance, pair } = nearest({ values: table(rows, made), rows, dim })
    const far = Math.floor(rows / 2)
    const line = row(
      grouped(base),
      `${grouped(wavelengths.at(-1) as number)}`,
      `${wavelengths.filter((wavelength) => wavelength > rows).length} of ${made.pairs}`,
      fixed(similarity(1, made) / made.pairs, 3),
      fixed(mostAlike(far, rows, made), 3),
      `${short(distance)} (${pair[0]} and ${pair[1]})`,
    )
    if (base === state.base) line.className = "here"
    return line
  })
  byId("bases").replaceChildren(
    headings("base", "longest wavelength", "pairs slower than that", "likeness of neighbours", `most alike from ${Math.floor(rows / 2)} apart on`, "closest rows"),
    el("tbody", {}, ...lines),
  )
  byId("bases-caption").textContent =
    `Measured on ${rows} rows of width ${dim}${dim < state.dim ? ` (not ${state.dim}, to keep the page quick)` : ""}. ` +
    "Likeness is the dot product divided by d/2: 1 for equal rows. " +
    "With a small base, rows far apart come out as alike as neighbours or nearly; with a large one, neighbours grow alike too, for many pairs hardly move. " +
    "10000 is a fair middle for some hundreds of words, and models for longer texts use larger bases."
}

function mostAlike(from: number, rows: number, made: ReturnType<typeof plan>): number {
  let most = -Infinity
  for (let k = from; k < rows; k++) most = Math.max(most, similarity(k, made) / made.pairs)
  return most
}

function drawAdding(state: State): void {
  const words = wordsOf(state.sentences[0]).slice(0, 64)
  const norm = Math.sqrt(state.dim / 2)
  const lengths =
    `At width ${state.dim} every row of the encoding has length √(d/2) = ${fixed(norm, 2)}; ` +
    `a word vector of variance one has about √d = ${fixed(Math.sqrt(state.dim), 2)}.`
  if (words.length === 0) {
    byId("adding").textContent = lengths
    return
  }
  const cosine = overlap(words, state.dim)
  byId("adding").textContent =
    `${lengths} In your first sentence, the word vector and the encoding that is added to it are never less than ` +
    `${fixed((180 / Math.PI) * Math.acos(cosine), 0)} degrees apart (90 would be no overlap at all).`
}
