/** The core against values that Python wrote from arbitrary precision. */

import assert from "node:assert/strict"
import { test } from "node:test"
import type { Layout } from "../src/core/conventions"
import { encode } from "../src/core/encoding"
import golden from "../src/data/golden.json" with { type: "json" }

/** The bar that Python and JavaScript agree to. */
const BAR = 1e-12

test("every golden row is met to 1e-12, also far beyond 2^53", () => {
  assert.ok(golden.length >= 50)
  let worst = 0
  for (const row of golden) {
    const position = typeof row.position === "string" ? BigInt(row.position) : row.position
    const { convention, base, dim } = row
    const values = encode(position, dim, { convention, base, layout: row.layout as Layout })
    assert.equal(values.length, row.values.length)
    values.forEach((value, column) => {
      const error = Math.abs(value - (row.values[column] as number))
      worst = Math.max(worst, error)
      assert.ok(error <= BAR, `${convention}, position ${position}, dim ${dim}, column ${column}: off by ${error}`)
    })
  }
  console.log(`largest difference ${worst} over ${golden.length} rows`)
})
