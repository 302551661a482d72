/** Rotary beside the added encoding: scores of the same two words at the same distance, in different places. */

import { encode, plan } from "../core/encoding"
import { wordsOf } from "../core/experiment"
import { dot, rotate } from "../core/matrix"
import { fixed, grouped, short } from "../core/numbers"
import type { State } from "../core/state"
import { wordVector } from "../core/words"
import { byId, el, headings, row } from "./dom"
import { ENCODING, type View } from "./view"

/** What is scored while the first sentence is empty. */
const STAND_INS = ["man", "dog"] as const
const PLACES = [0, 10, 1_000, 1_000_000]

function origin(words: number): string {
  if (words === 0) return "two words that stand in, since your first sentence has none"
  return words === 1 ? "the one word of your first sentence" : "the first two words of your first sentence"
}

export function rotaryView(): View {
  return { keys: [...ENCODING, "position", "offset", "sentences"], draw }
}

function draw(state: State): void {
  const made = plan(state.dim, { base: state.base })
  const words = wordsOf(state.sentences[0])
  const [first, second] =
    words.length === 0 ? STAND_INS : ([words[0] as string, words[1] ?? (words[0] as string)] as const)
  const [query, key] = [wordVector(first, state.dim), wordVector(second, state.dim)]
  byId("rotary-words").replaceChildren(
    el("bdi", {}, `“${first}”`),
    " as the query and ",
    el("bdi", {}, `“${second}”`),
    ` as the key (${origin(words.length)}), at distance k = ${fixed(state.offset, 0)}`,
  )
  const added = (vector: Float64Array, position: number): Float64Array => {
    const encoding = encode(position, state.dim, state)
    return vector.map((x, j) => x + (encoding[j] as number))
  }
  const places = PLACES.map((from) => state.position + from)
  const scores = places.map((p) => ({
    p,
    rotary: dot(rotate(query, p, made), rotate(key, p + state.offset, made)),
    sum: dot(added(query, p), added(key, p + state.offset)),
  }))
  byId("rotary-table").replaceChildren(
    headings("query at, key at", "rotary score", "with the encoding added"),
    el(
      "tbody",
      {},
      ...scores.map(({ p, rotary, sum }) =>
        row(`${grouped(p)}, ${grouped(p + state.offset)}`, fixed(rotary, 9), fixed(sum, 9)),
      ),
    ),
  )
  const spread = (values: readonly number[]): number => Math.max(...values) - Math.min(...values)
  const [turned, summed] = [spread(scores.map(({ rotary }) => rotary)), spread(scores.map(({ sum }) => sum))]
  byId("rotary-status").textContent =
    `Turned, the four scores ${turned === 0 ? "are equal to the last digit" : `differ by ${short(turned)}, which is rounding`}. ` +
    `Added, they differ by ${short(summed)}: word and place mix in the product. ` +
    (state.offset === 0
      ? ""
      : `At distance 0 the rotary score would be ${fixed(dot(query, key), 3)}, the plain product.`)
  const [before, after] = [
    dot(query, query),
    dot(rotate(query, state.position, made), rotate(query, state.position, made)),
  ]
  byId("rotary-caption").textContent =
    `Plain dot products at width ${state.dim}, without learned weights. ` +
    `Turning keeps lengths: |q|² is ${fixed(before, 6)} before and ${fixed(after, 6)} after. The rotary scores turn neighbouring columns by the paper's ladder at your width and base, whatever the convention; ` +
    `what is added in the last column are rows of the convention ${state.convention}.`
}
