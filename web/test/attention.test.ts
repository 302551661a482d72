/** Attention on weights that can be done by hand, and the permutation experiment. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { attend, type Layer, layerFrom } from "../src/core/attention"
import { plan } from "../src/core/encoding"
import { compare, isRounding, overlap, relation, repeated, run } from "../src/core/experiment"
import { wordVector } from "../src/core/words"
import exported from "../src/data/attention.json" with { type: "json" }

/** Two dimensions, one head, all projections the identity, no biases. */
const plain: Layer = {
  dim: 2,
  heads: 1,
  inWeight: Float32Array.from([1, 0, 0, 1, 1, 0, 0, 1, 1, 0, 0, 1]),
  inBias: new Float32Array(6),
  outWeight: Float32Array.from([1, 0, 0, 1]),
  outBias: Float32Array.from([0.5, -0.25]),
}

test("two orthogonal words share their attention as e^(1/sqrt 2) to 1", () => {
  const { output, weights } = attend(plain, [Float64Array.from([1, 0]), Float64Array.from([0, 1])])
  const own = Math.exp(Math.SQRT1_2) / (Math.exp(Math.SQRT1_2) + 1)
  assert.ok(Math.abs((weights[0]?.[0]?.[0] as number) - own) <= 2 ** -52)
  assert.ok(Math.abs((output[0]?.[0] as number) - (own + 0.5)) <= 2 ** -51)
  assert.ok(Math.abs((output[0]?.[1] as number) - (1 - own - 0.25)) <= 2 ** -51)
})

test("a key biased towards one word is followed, whichever head it is in", () => {
  const two: Layer = { ...plain, heads: 2 }
  const { weights } = attend(two, [Float64Array.from([3, 0]), Float64Array.from([0, 3])])
  const sharp = Math.exp(9) / (Math.exp(9) + 1)
  assert.ok(Math.abs((weights[0]?.[0]?.[0] as number) - sharp) <= 2 ** -52)
  assert.equal(weights[1]?.[0]?.[0], 0.5)
})

test("queries, keys and values have weights of their own", () => {
  // Keys doubled, values tripled: scores are 2 / sqrt 2 and 0, and a word gives three times itself.
  const uneven: Layer = {
    ...plain,
    inWeight: Float32Array.from([1, 0, 0, 1, 2, 0, 0, 2, 3, 0, 0, 3]),
    outBias: new Float32Array(2),
  }
  const { output } = attend(uneven, [Float64Array.from([1, 0]), Float64Array.from([0, 1])])
  const own = Math.exp(Math.SQRT2) / (Math.exp(Math.SQRT2) + 1)
  assert.ok(Math.abs((output[0]?.[0] as number) - 3 * own) <= 2 ** -50)
  assert.ok(Math.abs((output[0]?.[1] as number) - 3 * (1 - own)) <= 2 ** -50)
})

test("large scores do not overflow", () => {
  const { weights } = attend(plain, [Float64Array.from([100, 0]), Float64Array.from([0, 100])])
  assert.deepEqual(
    weights[0]?.map((row) => Array.from(row)),
    [
      [1, 0],
      [0, 1],
    ],
  )
})

const layer = layerFrom(exported)
const words = (text: string): string[] => text.split(" ")

test("without positions the same words have the same outputs, to the last bit", () => {
  for (const [a, b] of [
    ["man bites dog", "dog bites man"],
    ["the man bites the dog", "the dog bites the man"],
  ] as const) {
    const { shared, pooled } = compare(layer, words(a), words(b), false)
    assert.equal(shared.length, words(a).length)
    assert.ok(shared.every(({ difference }) => difference === 0))
    assert.equal(pooled, 0)
  }
})

test("with positions they have not", () => {
  const { shared, pooled } = compare(layer, words("man bites dog"), words("dog bites man"), true)
  assert.ok(shared.every(({ difference }) => difference > 1e-3))
  assert.ok(pooled > 1e-3)
})

test("a repeated word is matched with its next place", () => {
  const { shared } = compare(layer, words("a b a"), words("a a b"), false)
  assert.deepEqual(
    shared.map(({ word, places }) => [word, ...places]),
    [
      ["a", 0, 0],
      ["b", 1, 2],
      ["a", 2, 1],
    ],
  )
})

test("sentences are empty, the same, reordered or different", () => {
  assert.equal(relation([], ["a"]), "empty")
  assert.equal(relation(["a", "b"], ["a", "b"]), "same")
  assert.equal(relation(["a", "b"], ["b", "a"]), "reordered")
  assert.equal(relation(["a", "b"], ["b", "b"]), "different")
})

test("an empty sentence has an empty output", () => {
  assert.deepEqual(run(layer, [], true).output, [])
})

test("a word that stands twice has one output without positions and two with them", () => {
  assert.deepEqual(repeated(run(layer, words("the man bites the dog"), false)), { word: "the", difference: 0 })
  assert.ok((repeated(run(layer, words("the man bites the dog"), true))?.difference as number) > 1e-3)
  assert.equal(repeated(run(layer, words("man bites dog"), true)), undefined)
})

test("of two words that stand twice it is the one whose outputs are farther apart", () => {
  const at = (...numbers: number[]): Float64Array[] => numbers.map((value) => Float64Array.from([value]))
  const rest = { inputs: [], weights: [] }
  assert.deepEqual(repeated({ ...rest, words: words("a b a b"), output: at(0, 0, 1, 3) }), { word: "b", difference: 3 })
  assert.deepEqual(repeated({ ...rest, words: words("a b a b"), output: at(0, 0, 3, 1) }), { word: "a", difference: 3 })
})

test("the overlap of words and positions is told on both sides of a right angle", () => {
  const made = plan(2)
  const angle = (word: string, position: number): number => {
    const [x, y] = wordVector(word, 2) as unknown as [number, number]
    return (x * Math.sin(position) + y * Math.cos(position)) / Math.hypot(x, y)
  }
  const cosines = ["man", "bites", "dog", "slowly"].map(angle)
  const { least, most } = overlap(["man", "bites", "dog", "slowly"], made)
  assert.ok(Math.abs(least - Math.min(...cosines)) <= 2 ** -50)
  assert.ok(Math.abs(most - Math.max(...cosines)) <= 2 ** -50)
  assert.ok(least < 0 && most > 0)
})

test("three dogs and two differ by rounding alone, a dog and a man by more", () => {
  const dogs = compare(layer, words("dog dog dog"), words("dog dog"), false).shared.map(({ difference }) => difference)
  assert.ok(Math.max(...dogs) > 0)
  assert.ok(dogs.every((difference) => isRounding(difference, 3, 32)))
  const others = compare(layer, words("dog man"), words("dog dog"), false).shared.map(({ difference }) => difference)
  assert.ok(others.every((difference) => !isRounding(difference, 2, 32)))
})
