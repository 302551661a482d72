/** Sentences into words, and words into fixed vectors that Python makes in the same way. */

export const MOST_WORDS = 500

/** White space as Python's str.split() knows it, which is not JavaScript's \s. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: they are white space to Python.
const SPACE = /[\t-\r\x1c-\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000]+/u
const ENDS = /^[\p{P}\p{S}]+|[\p{P}\p{S}]+$/gu
const UNPRINTABLE = /[\p{C}\p{Z}]/gu

/** Lower case, split at white space, punctuation and symbols dropped at both ends. */
export function splitWords(sentence: string): string[] {
  return sentence
    .toLowerCase()
    .split(SPACE)
    .map((chunk) => chunk.replace(ENDS, "").replace(UNPRINTABLE, "\uFFFD"))
    .filter((word) => word !== "")
}

/** FNV-1a, 32 bits, over the UTF-8 bytes. */
function fingerprint(word: string): number {
  let hash = 0x811c9dc5
  for (const byte of new TextEncoder().encode(word)) hash = Math.imul(hash ^ byte, 0x01000193)
  return hash >>> 0
}

/** The finaliser of MurmurHash3: every bit of the input moves every bit of the output. */
function mixed(value: number): number {
  let z = value
  z = Math.imul(z ^ (z >>> 16), 0x85ebca6b)
  z = Math.imul(z ^ (z >>> 13), 0xc2b2ae35)
  return (z ^ (z >>> 16)) >>> 0
}

/** dim numbers, spread evenly over -sqrt(3) .. sqrt(3), so with mean zero and variance one. */
export function wordVector(word: string, dim: number): Float64Array {
  const hash = fingerprint(word)
  return Float64Array.from(
    { length: dim },
    (_, j) => (mixed((hash + Math.imul(j, 0x9e3779b9)) >>> 0) / 2 ** 31 - 1) * Math.sqrt(3),
  )
}
