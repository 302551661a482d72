/** An address that cannot be shown as it is written is put right, and what was changed is said. */

import assert from "node:assert/strict"
import { test } from "node:test"
import { repairs } from "../src/core/repairs"
import { cleaned, fromFragment } from "../src/core/state"

const told = (fragment: string): string[] => {
  const given = fromFragment(fragment)
  return repairs(given, cleaned(given))
}

test("what is shown as it was written is passed over in silence", () => {
  for (const fragment of [
    "",
    "#order",
    "#dim=64",
    "#base=1e4&length=+128",
    "#position=63&length=64",
    "#sentences=a&sentences=b",
  ]) {
    assert.deepEqual(told(fragment), [], fragment)
  }
})

test("what was changed is said, with the reason", () => {
  assert.deepEqual(told("#dim=7"), ["dim is 6, not “7” (widths are even, from 2 to 512)"])
  assert.deepEqual(told("#convention=zzz"), ["convention is transformer, not “zzz” (the page knows no such choice)"])
  assert.deepEqual(told("#position=70&length=64"), [
    "position is 63, not “70” (the last position is 63 at this length)",
  ])
  assert.deepEqual(told("#foo=1"), ["“foo” is no setting and was left out"])
  assert.equal(told("#dim=&offset=x&base=0&__proto__=1").length, 4)
})

test("long values are cut, and sentences that are missing or too many are told", () => {
  assert.ok((told(`#break=${"z".repeat(9000)}`)[0] as string).length < 150)
  assert.match(told("#sentences=alone")[0] as string, /second sentence is the page's own/)
  assert.match(told("#sentences=a&sentences=b&sentences=c")[0] as string, /of 3 sentences the first two/)
  assert.match(told(`#sentences=${"a".repeat(9000)}&sentences=b`)[0] as string, /cut after 8000 characters/)
})
