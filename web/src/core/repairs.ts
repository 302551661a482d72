/** What an address asked for and could not be shown, in words. */

import { exact, grouped } from "./numbers"
import { DEFAULT, DIMS, MOST_BASE, MOST_CHARACTERS, MOST_OFFSET, type State } from "./state"

const MOST_TOLD = 40

type Key = keyof State

/** Why a value was not taken. */
function reason(key: Key, state: State): string {
  const reasons: Readonly<Partial<Record<Key, string>>> = {
    dim: `widths are even, from 2 to ${Math.max(...DIMS)}`,
    length: "lengths are whole, from 2 to 8192",
    base: `bases go from 1 to ${exact(MOST_BASE)}`,
    position: `the last position is ${grouped(state.length - 1)} at this length`,
    dimension: `the last dimension is ${state.dim - 1} at this width`,
    offset: `offsets are whole, from \u2212${MOST_OFFSET} to ${MOST_OFFSET}`,
  }
  return reasons[key] ?? "the page knows no such choice"
}

/** One line for each field of the address that is shown otherwise than it was written; none where all is as asked. */
export function repairs(given: Readonly<Record<string, unknown>>, shown: State): string[] {
  return Object.entries(given).flatMap(([key, value]) => {
    if (key === "sentences") return sentenceRepairs(value, shown)
    if (!Object.hasOwn(DEFAULT, key)) return [`“${cut(key)}” is no setting and was left out`]
    const now = shown[key as Key] as string | number
    if (isSame(value, now)) return []
    const text = typeof now === "number" ? exact(now) : now
    return [`${key} is ${text}, not “${cut(String(value))}” (${reason(key as Key, shown)})`]
  })
}

function isSame(value: unknown, now: string | number): boolean {
  return typeof now === "number" ? String(value).trim() !== "" && Number(value) === now : value === now
}

function sentenceRepairs(value: unknown, { sentences }: State): string[] {
  const given = Array.isArray(value) ? value : []
  if (given.length < sentences.length) return ["the second sentence is the page's own, since the address has one only"]
  const said = given.length > sentences.length ? [`of ${given.length} sentences the first two are shown`] : []
  const isCut = sentences.some((sentence, i) => sentence !== given[i])
  return isCut ? [...said, `sentences are cut after ${grouped(MOST_CHARACTERS)} characters`] : said
}

function cut(text: string): string {
  return text.length > MOST_TOLD ? `${text.slice(0, MOST_TOLD)}\u2026` : text
}
