/** Words, word vectors and the state of the address. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { cleaned, DEFAULT, fromFragment, toFragment } from "../src/core/state"
import { splitWords, wordVector } from "../src/core/words"

test("words are what the tour takes for words", () => {
  assert.deepEqual(splitWords('"Man bites dog," said the well-read porter.'), [
    "man",
    "bites",
    "dog",
    "said",
    "the",
    "well-read",
    "porter",
  ])
  assert.deepEqual(splitWords(" \u{1F642} ... \u3000"), [])
  assert.deepEqual(splitWords("a\u0085b\u00a0c\ufeffd"), ["a", "b", "c\uFFFDd"])
  assert.deepEqual(splitWords("+dog= (cat) \u{1F642}man"), ["dog", "cat", "man"])
  assert.deepEqual(splitWords("שלום עולם!"), ["שלום", "עולם"])
})

test("a word vector is FNV-1a, stepped by the golden ratio, mixed by MurmurHash3", () => {
  // FNV-1a of "a" is 0xe40c292c; its finaliser by hand: 0x85ebca6b and 0xc2b2ae35 in 32-bit arithmetic.
  let z = 0xe40c292cn
  z ^= z >> 16n
  z = (z * 0x85ebca6bn) & 0xffffffffn
  z ^= z >> 13n
  z = (z * 0xc2b2ae35n) & 0xffffffffn
  z ^= z >> 16n
  assert.equal(wordVector("a", 1)[0], (Number(z) / 2 ** 31 - 1) * Math.sqrt(3))
})

test("a word vector has mean zero and variance one, to sampling", () => {
  const values = wordVector("dog", 10000)
  const mean = values.reduce((sum, x) => sum + x, 0) / values.length
  const variance = values.reduce((sum, x) => sum + x * x, 0) / values.length
  // Five standard errors: 1/sqrt(n) for the mean, sqrt(4/5)/sqrt(n) for the variance of a uniform number.
  assert.ok(Math.abs(mean) < 0.05 && Math.abs(variance - 1) < 0.045)
})

test("the address holds what differs, and gives it back", () => {
  assert.equal(toFragment(DEFAULT), "")
  const state = cleaned({ dim: 512, length: 512, position: 20, dimension: 99, sentences: ["a & b", "שלום #1"] })
  assert.deepEqual(cleaned(fromFragment(`#${toFragment(state)}`)), state)
  assert.deepEqual(fromFragment("#order"), {})
})

test("what comes from outside is kept within limits", () => {
  assert.deepEqual(cleaned({}), DEFAULT)
  const wild = cleaned({
    dim: "1e9",
    length: "-4",
    base: "zero",
    convention: "__proto__",
    position: "7000",
    dimension: NaN,
    sentences: "x",
  })
  assert.equal(wild.dim, 512)
  assert.equal(wild.length, 2)
  assert.equal(wild.base, 10000)
  assert.equal(wild.convention, "transformer")
  assert.equal(wild.position, 1)
  assert.equal(cleaned({ dim: 4, dimension: 9 }).dimension, 3)
  assert.equal(cleaned({ base: "1e300" }).base, 1e12)
  assert.equal(cleaned({ base: 0 }).base, 1)
  assert.equal(cleaned({ base: 1.5, dim: null, offset: [] }).base, 1.5)
  assert.deepEqual(wild.sentences, DEFAULT.sentences)
})
