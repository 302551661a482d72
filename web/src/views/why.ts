/** What the base does, measured; and how word and position share one vector. */

import { plan, similarity } from "../core/encoding"
import { overlap, wordsOf } from "../core/experiment"
import { exact, fixed, grouped } from "../core/numbers"
import { planOf, type State } from "../core/state"
import { byId, el, headings, innerWidth, row } from "./dom"
import { ENCODING, type View } from "./view"

const BASES = [2, 10, 100, 10_000, 1_000_000]
const DISTANCES = [1, 10, 100, 1000]
/** More words than that need not be measured while one types. */
const MOST_WORDS = 64
/** In less room than this all columns are seen only with a digit less. */
const NARROW = 400
/** From this width on the table shows what the text under it says. */
const TELLING = 32
const SAYS =
  "A small base tells neighbours well apart, but then the likeness is only noise around zero: 100 and 1000 positions look equally far. " +
  "A large base fades over long distances, and its neighbours are harder to tell apart, because many pairs hardly move in one step. " +
  "10000 fades over thousands of positions."

export function whyView(): View {
  return {
    keys: [...ENCODING, "sentences"],
    draw: (state) => {
      drawBases(state)
      drawAdding(state)
    },
  }
}

function drawBases(state: State): void {
  const room = innerWidth(byId("bases").parentElement as HTMLElement)
  const decimals = room < NARROW ? 2 : 3
  const bases = [...new Set([...BASES, state.base])].sort((a, b) => a - b)
  const lines = bases.map((base) => {
    const made = plan(state.dim, { base, convention: state.convention })
    const likeness = DISTANCES.map((distance) => fixed(similarity(distance, made) / made.pairs, decimals))
    const line = row(exact(base), grouped(made.ladder.wavelengths.at(-1) as number), ...likeness)
    if (base === state.base) line.className = "here"
    return line
  })
  byId("bases").replaceChildren(
    headings("base", "longest wavelength", ...DISTANCES.map((distance) => `${grouped(distance)} apart`)),
    el("tbody", {}, ...lines),
  )
  byId("bases-caption").textContent =
    `Computed at width ${state.dim} with the ladder of the convention ${state.convention}. On the right is how alike two rows are that stand so far apart: their dot product divided by d/2, so 1 for equal rows. ` +
    (state.dim < TELLING
      ? `Below width ${TELLING} a base has few pairs to work with: raise the width to see more.`
      : SAYS)
}

function drawAdding(state: State): void {
  const all = wordsOf(state.sentences[0])
  const words = all.slice(0, MOST_WORDS)
  const norm = Math.sqrt(state.dim / 2)
  const lengths =
    `At width ${state.dim} every row of the encoding has length √(d/2) = ${fixed(norm, 2)}; ` +
    `a word vector of variance one has about √d = ${fixed(Math.sqrt(state.dim), 2)}.`
  if (words.length === 0) {
    byId("adding").textContent = lengths
    return
  }
  const { least, most } = overlap(words, planOf(state))
  const degrees = (cosine: number): string => fixed((180 / Math.PI) * Math.acos(cosine), 0)
  const where =
    all.length > words.length ? `the first ${MOST_WORDS} words of your first sentence` : "your first sentence"
  const between =
    words.length === 1
      ? `the word vector and the encoding that is added to it are ${degrees(most)} degrees apart`
      : `the word vectors and the encodings that are added to them are ${degrees(most)} to ${degrees(least)} degrees apart`
  const share = Math.max(Math.abs(least), Math.abs(most))
  byId("adding").textContent =
    `${lengths} In ${where}, ${between}. At 90 degrees they do not overlap at all, at 0 and at 180 wholly; ` +
    `the largest overlap here, |cos| of the angle, is ${fixed(share, 3)}.`
}
