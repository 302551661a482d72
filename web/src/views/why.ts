/** What the base does, measured; and how word and position share one vector. */

import { plan, similarity } from "../core/encoding"
import { overlap, wordsOf } from "../core/experiment"
import { exact, fixed, grouped } from "../core/numbers"
import type { State } from "../core/state"
import { byId, el, headings, row } from "./dom"
import type { View } from "./view"

const BASES = [2, 10, 100, 10_000, 1_000_000]
const DISTANCES = [1, 10, 100, 1000]
/** From this width on the table shows what the text under it says. */
const TELLING = 32
const SAYS =
  "A small base tells neighbours well apart, but then the likeness is only noise around zero: 100 and 1000 positions look equally far. " +
  "A large base fades over long distances, and its neighbours are harder to tell apart, because many pairs hardly move in one step. " +
  "10000 fades over thousands of positions."

export function whyView(): View {
  return {
    keys: ["dim", "base", "sentences"],
    draw: (state) => {
      drawBases(state)
      drawAdding(state)
    },
  }
}

function drawBases(state: State): void {
  const bases = [...new Set([...BASES, state.base])].sort((a, b) => a - b)
  const lines = bases.map((base) => {
    const made = plan(state.dim, { base })
    const likeness = DISTANCES.map((distance) => fixed(similarity(distance, made) / made.pairs, 3))
    const line = row(exact(base), grouped(made.ladder.wavelengths.at(-1) as number), ...likeness)
    if (base === state.base) line.className = "here"
    return line
  })
  byId("bases").replaceChildren(
    headings("base", "longest wavelength", ...DISTANCES.map((distance) => `likeness ${grouped(distance)} apart`)),
    el("tbody", {}, ...lines),
  )
  byId("bases-caption").textContent =
    `Computed at width ${state.dim}. Likeness is the dot product of two rows divided by d/2: 1 for equal rows. ` +
    (state.dim < TELLING ? `Below width ${TELLING} a base has few pairs to work with: raise the width to see more.` : SAYS)
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
