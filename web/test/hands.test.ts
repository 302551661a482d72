/** What is said of the hands is true of many, of one, and of hands that are all equal. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { plan } from "../src/core/encoding"
import { endsText, reachText, spacingText, turnedText, unseenText } from "../src/core/hands"

test("where a convention starts at 2, nothing has turned at position 0", () => {
  const fairseq = plan(64, { convention: "fairseq" })
  assert.match(
    turnedText(fairseq, 0),
    /^The first has turned 0\.00 times since position 0, the last by 0 degrees in all\./,
  )
  // 6 / 2 pi turns, and 6 / 10000 radians.
  assert.match(turnedText(fairseq, 6), /turned 0\.95 times since position 0, the last by 0\.0344 degrees/)
  assert.match(turnedText(fairseq, 6), /fairseq counts position 0 as 2/)
  assert.doesNotMatch(turnedText(plan(64), 6), /counts position 0/)
})

test("a ladder of one pair has no ends, no equal steps and no rung to spare", () => {
  const one = plan(2)
  assert.equal(endsText(one), "The one wavelength is 2π = 6.28 positions. ")
  assert.match(spacingText(one), /the one pair of this width is one line/)
  assert.equal(turnedText(one, 6), "It has turned 0.95 times since position 0.")
  assert.equal(reachText(one, 6), "The one pair does not finish a turn in 6 positions.")
  assert.equal(reachText(one, 8), "The one pair finishes a turn in 8 positions.")
})

test("with base 1 no wave is the longest", () => {
  const equal = plan(64, { base: 1 })
  assert.equal(endsText(equal), "All 32 wavelengths are 2π = 6.28 positions. ")
  assert.match(spacingText(equal), /all 32 pairs stand in one place/)
  assert.equal(turnedText(equal, 6), "Each has turned 0.95 times since position 0.")
})

test("the ends of the paper's ladder, and of one that ends at the base", () => {
  // 2 pi 10000^(62/64) = 47117.2..
  assert.match(endsText(plan(64)), /the longest 2π · 10\u202f000\^\(62\/64\) = 47\u202f117\. .* one rung short/)
  assert.match(endsText(plan(64, { convention: "marian" })), /one rung short/)
  const shifted = endsText(plan(64, { convention: "tensor2tensor" }))
  assert.match(shifted, /the longest 2π · 10\u202f000 = 62\u202f832\. $/)
})

test("new beyond the end is how hands stand together only where there are hands that differ", () => {
  assert.match(unseenText(plan(64, { base: 10 }), 64), /each of the 32 hands comes round .* how they stand together/)
  for (const alone of [plan(2), plan(64, { base: 1 })]) {
    assert.match(unseenText(alone, 64), /points again into directions that it has passed before/)
    assert.doesNotMatch(unseenText(alone, 64), /stand together/)
    assert.match(unseenText(alone, 6), /never seen it/)
  }
})

test("counts of hands agree with their verbs", () => {
  // Wavelengths at width 4: 6.28 and 628; at width 64, 24 are longer than 64 in the convention that ends at the base.
  assert.equal(reachText(plan(4), 64), "1 of 2 pairs does not finish one turn in 64 positions.")
  assert.match(unseenText(plan(4), 64), /of the 2 hands, 1 does not come round .* that one points .* never seen it\./)
  assert.match(reachText(plan(64, { convention: "fairseq" }), 64), /^24 of 32 pairs do not finish/)
  assert.equal(reachText(plan(4), 1000), "Every pair finishes a turn in 1000 positions.")
  assert.equal(reachText(plan(4), 2), "No pair finishes a turn in 2 positions.")
})
