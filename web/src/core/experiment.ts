/** The permutation experiment: two sentences through one attention layer, with positions and without. */

import { type Attended, attend, type Layer } from "./attention"
import { type Plan, plan, table } from "./encoding"
import { MOST_WORDS, splitWords, wordVector } from "./words"

export interface Run extends Attended {
  readonly words: readonly string[]
  readonly inputs: readonly Float64Array[]
}

/** A word that stands in both sentences, and how far its outputs are from each other. */
export interface Shared {
  readonly word: string
  readonly places: readonly [number, number]
  readonly difference: number
}

export interface Comparison {
  readonly runs: readonly [Run, Run]
  readonly shared: readonly Shared[]
  /** The largest difference between the two means over all words. */
  readonly pooled: number
}

/** How the words of two sentences relate; only "reordered" is an experiment about order alone. */
export type Relation = "empty" | "same" | "reordered" | "different"

export function relation(first: readonly string[], second: readonly string[]): Relation {
  if (first.length === 0 || second.length === 0) return "empty"
  if (first.join("\n") === second.join("\n")) return "same"
  return [...first].sort().join("\n") === [...second].sort().join("\n") ? "reordered" : "different"
}

/** The words of a sentence, at most 500. */
export function wordsOf(sentence: string): string[] {
  return splitWords(sentence).slice(0, MOST_WORDS)
}

/** One sentence through the layer: word vectors, the paper's encoding added or not, attention. */
export function run(layer: Layer, words: readonly string[], encoding: boolean): Run {
  const rows = table(words.length, plan(layer.dim))
  const inputs = words.map((word, position) =>
    wordVector(word, layer.dim).map((x, j) => (encoding ? x + (rows[position * layer.dim + j] as number) : x)),
  )
  return { words, inputs, ...attend(layer, inputs) }
}

export function compare(
  layer: Layer,
  first: readonly string[],
  second: readonly string[],
  encoding: boolean,
): Comparison {
  const runs = [run(layer, first, encoding), run(layer, second, encoding)] as const
  return { runs, shared: sharedWords(runs), pooled: largest(mean(runs[0], layer.dim), mean(runs[1], layer.dim)) }
}

/** Each word of the first sentence with its next place in the second that is not taken yet. */
function sharedWords([first, second]: readonly [Run, Run]): Shared[] {
  const free = new Map<string, number[]>()
  for (const [place, word] of second.words.entries()) free.set(word, [...(free.get(word) ?? []), place])
  return first.words.flatMap((word, place) => {
    const other = free.get(word)?.shift()
    if (other === undefined) return []
    const difference = largest(first.output[place] as Float64Array, second.output[other] as Float64Array)
    return [{ word, places: [place, other] as const, difference }]
  })
}

/** A word that stands more than once in a sentence, and how far its outputs are apart; the farthest such word. */
export function repeated({ words, output }: Run): { word: string; difference: number } | undefined {
  const first = new Map<string, Float64Array>()
  let found: { word: string; difference: number } | undefined
  words.forEach((word, place) => {
    const own = output[place] as Float64Array
    const before = first.get(word)
    if (before === undefined) first.set(word, own)
    else {
      const difference = largest(before, own)
      if (found === undefined || difference > found.difference) found = { word, difference }
    }
  })
  return found
}

/** The mean output; columns are summed in order of size, so that the order of words leaves no rounding. */
function mean(sentence: Run, dim: number): Float64Array {
  return Float64Array.from({ length: dim }, (_, j) => {
    const column = Float64Array.from(sentence.output, (row) => row[j] as number).sort()
    return column.reduce((sum, value) => sum + value, 0) / Math.max(1, sentence.words.length)
  })
}

function largest(a: Float64Array, b: Float64Array): number {
  return a.reduce((most, value, j) => Math.max(most, Math.abs(value - (b[j] as number))), 0)
}

/** The least and the largest cosine between a word vector and the encoding that is added to it. */
export function overlap(words: readonly string[], encodingPlan: Plan): { least: number; most: number } {
  const { dim } = encodingPlan
  const rows = table(words.length, encodingPlan)
  const cosines = words.map((word, position) =>
    cosine(wordVector(word, dim), rows.subarray(position * dim, (position + 1) * dim)),
  )
  return { least: Math.min(...cosines), most: Math.max(...cosines) }
}

function cosine(a: Float64Array, b: Float64Array): number {
  const product = (x: Float64Array, y: Float64Array): number =>
    x.reduce((sum, value, j) => sum + value * (y[j] as number), 0)
  return product(a, b) / Math.sqrt(product(a, a) * product(b, b))
}

/**
 * Whether a difference of outputs is no more than rounding: sums over the words, over a head and over the width,
 * each of numbers of about size one, each with one unit in the last place to spare.
 */
export function isRounding(difference: number, words: number, dim: number): boolean {
  return difference <= (words + 4 * dim) * 2 ** -52
}
