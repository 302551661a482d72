/** The laws of the core, with hand-made numbers beside them. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { BREAKS, breakNamed, ROWS } from "../src/core/breaks"
import { cellText } from "../src/core/cell"
import { columnsOf, encode, plan, similarity, table } from "../src/core/encoding"
import { bfloat16, float16 } from "../src/core/half"
import { blocks, dot, rotate, shiftMatrix } from "../src/core/matrix"
import { distinct, firstRise, nearest, similaritySpread, turnResidual } from "../src/core/measures"
import { wordVector } from "../src/core/words"

/** A few units in the last place of a sum of `terms` numbers of size one. */
const rounding = (terms: number): number => terms * 4 * 2 ** -53

test("the first row is 0, 1, 0, 1 and the second begins with sin 1 and cos 1", () => {
  assert.deepEqual(encode(0, 6), [0, 1, 0, 1, 0, 1])
  assert.deepEqual(encode(1, 2), [Math.sin(1), Math.cos(1)])
  assert.deepEqual(encode(1, 2, { layout: "halves", convention: "musicgen" }), [Math.cos(1), Math.sin(1)])
})

test("short and long positions take two ways to the same values", () => {
  for (const position of [0, 3, -3, 44, 710, 2 ** 21 - 1]) {
    encode(position, 32).forEach((value, column) => {
      assert.ok(Math.abs(value - (encode(BigInt(position), 32)[column] as number)) <= 2 ** -52)
    })
  }
})

test("a fraction of a position, a wrong width and an unknown convention are refused", () => {
  assert.throws(() => encode(0.5, 4), /not an integer/)
  assert.throws(() => encode(1, 0), /dim 0/)
  assert.throws(() => encode(1, 7, { convention: "openai-whisper" }), /even widths/)
  assert.throws(() => encode(1, 4, { convention: "nobody" }), /no convention "nobody"/)
  assert.throws(() => encode(1, 4, { base: 0 }), /base 0/)
})

test("wavelengths run from 2 pi to 2 pi 10000^((d - 2) / d)", () => {
  for (const dim of [4, 64, 512]) {
    const { wavelengths } = plan(dim).ladder
    assert.equal(wavelengths[0], 2 * Math.PI)
    const last = 2 * Math.PI * 10000 ** ((dim - 2) / dim)
    assert.ok(Math.abs((wavelengths.at(-1) as number) / last - 1) < 1e-14)
  }
  assert.ok(
    Math.abs(
      (plan(64, { convention: "tensor2tensor" }).ladder.wavelengths.at(-1) as number) / (2 * Math.PI * 10000) - 1,
    ) < 1e-14,
  )
})

test("the lesson's cells: index 99 is a cosine, index 100 a sine", () => {
  assert.match(cellText(20, 99, 512), /^position 20, dimension 99: cos\(20 \/ 10000\^\(98\/512\)\) = /)
  assert.match(cellText(20, 100, 512), /^position 20, dimension 100: sin\(20 \/ 10000\^\(100\/512\)\) = /)
  assert.equal(cellText(6, 1, 64), "position 6, dimension 1: cos(6 / 10000^(0/64)) = 0.960170")
  assert.match(cellText(0, 0, 8, { convention: "fairseq" }), /sin\(\(0 \+ 2\) \/ 10000\^\(0\/3\)\) = 0.909297/)
})

test("the similarity first rises at 5 for d = 64 and at 43 for d = 512", () => {
  for (const [dim, rise] of [
    [8, 3],
    [16, 3],
    [32, 4],
    [64, 5],
    [128, 11],
    [256, 24],
    [512, 43],
  ] as const) {
    const curve = Array.from({ length: 200 }, (_, k) => similarity(k, plan(dim)))
    assert.equal(firstRise(curve), rise, `d = ${dim}`)
  }
})

test("M_k takes every row k on, in every convention", () => {
  for (const convention of ["transformer", "marian", "tensor2tensor", "musicgen", "fairseq"]) {
    const dim = 16
    const made = plan(dim, { convention })
    const matrix = shiftMatrix(7, made)
    const [from, to] = [encode(5, dim, { convention }), encode(12, dim, { convention })]
    to.forEach((value, row) => {
      const product = from.reduce((sum, x, column) => sum + (matrix[row * dim + column] as number) * x, 0)
      assert.ok(Math.abs(product - value) <= rounding(4), convention)
    })
  }
  assert.deepEqual(blocks(0, plan(2)), [{ pair: 0, sin: 0, cos: 1, sine: 0, cosine: 1 }])
  assert.throws(() => blocks(1, plan(7)), /odd width/)
})

test("columns of a pair", () => {
  assert.deepEqual(columnsOf(1, plan(6)), { sin: 2, cos: 3 })
  assert.deepEqual(columnsOf(1, plan(6, { convention: "marian" })), { sin: 1, cos: 4 })
  assert.deepEqual(columnsOf(3, plan(7)), { sin: 6 })
})

test("a rotary score depends on the distance alone", () => {
  const made = plan(32)
  const [q, k] = [wordVector("man", 32), wordVector("dog", 32)]
  const score = (p: number, r: number): number => dot(rotate(q, p, made), rotate(k, r, made))
  assert.ok(Math.abs(score(3, 8) - score(1003, 1008)) <= rounding(32) * 10)
  assert.ok(Math.abs(score(3, 8) - score(3, 9)) > 1e-3)
  assert.deepEqual(Array.from(rotate(Float64Array.from([1, 0]), 1, plan(2))), [Math.cos(1), Math.sin(1)])
})

test("short formats round to nearest, ties to even", () => {
  assert.deepEqual([255, 257, 258, 259, 511, -257].map(bfloat16), [255, 256, 258, 260, 512, -256])
  assert.deepEqual([2047, 2049, 2050, 2051].map(float16), [2047, 2048, 2050, 2052])
  assert.equal(bfloat16(1 / 3), 0.333984375)
  assert.equal(float16(1 / 3), 0.333251953125)
})

test("an unbroken table holds the three properties", () => {
  const { table: rows, plan: made } = breakNamed("none").make(64, 10000)
  assert.equal(distinct(rows), ROWS)
  assert.ok(Math.abs(nearest(rows).distance - 1.4718) < 5e-5)
  assert.ok(turnResidual(rows, made, 5) <= rounding(4))
  assert.ok(similaritySpread(rows).spread <= rounding(64) * 64)
})

test("each break is caught by a property, or is known to leave all laws standing", () => {
  const harmless = new Set(["none", "base-1", "base-10"])
  for (const candidate of BREAKS) {
    const { table: rows, plan: made } = candidate.make(64, 10000)
    const falls = [distinct(rows) < ROWS, turnResidual(rows, made, 1) > 1e-9, similaritySpread(rows).spread > 1e-9]
    assert.equal(falls.some(Boolean), !harmless.has(candidate.id), candidate.id)
  }
})

test("bfloat16 positions leave 385 of 512 rows, float16 ones merge above 2048", () => {
  assert.equal(distinct(breakNamed("bfloat16-positions").make(64, 10000).table), 385)
  assert.equal(distinct(breakNamed("float16-positions").make(64, 10000).table), 256 + 129)
  assert.equal(distinct(breakNamed("max-len").make(64, 10000).table), 256)
  assert.equal(distinct(breakNamed("swapped-axes").make(64, 10000).table), 1)
})

test("with base 1 the closest rows are 333 apart, not neighbours", () => {
  const { pair, distance } = nearest(breakNamed("base-1").make(64, 1e4).table)
  assert.equal(pair[1] - pair[0], 333)
  assert.ok(distance > 0 && distance < 0.1)
})

test("a table with a stride holds every stride-th row", () => {
  assert.deepEqual(Array.from(table(3, plan(4), 1, 5).slice(4, 8)), encode(6, 4))
})

test("an odd width is padded with a zero where the convention says so", () => {
  assert.equal(encode(5, 7, { convention: "tensor2tensor" })[6], 0)
  assert.deepEqual(
    encode(5, 7, { convention: "tensor2tensor" }).slice(0, 6),
    encode(5, 6, { convention: "tensor2tensor" }),
  )
  assert.equal(
    cellText(5, 6, 7, { convention: "tensor2tensor" }),
    "position 5, dimension 6: 0, which pads the odd width",
  )
})

test("the nearest rows are found though a later pair is only a little nearer", () => {
  const rows = { values: Float64Array.from([0, 1, 1.9, 5]), rows: 4, dim: 1 }
  assert.deepEqual(nearest(rows).pair, [1, 2])
  assert.ok(Math.abs(nearest(rows).distance - 0.9) <= 2 ** -52)
})

test("the spread of products is that of the worst distance", () => {
  // Products at distance 0: 1, 4, 9, 1; at distance 1: 2, 6, 3; at distance 2: 3, 2.
  assert.deepEqual(similaritySpread({ values: Float64Array.from([1, 2, 3, 1]), rows: 4, dim: 1 }), {
    spread: 8,
    offset: 0,
  })
})
