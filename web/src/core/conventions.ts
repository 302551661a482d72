/** The conventions that the page can draw, as data: who writes the same formula down how. */

export type Layout = "interleaved" | "halves"
export type Order = "sine-first" | "cosine-first"

export interface Convention {
  readonly name: string
  readonly title: string
  readonly layout: Layout
  readonly order: Order
  /** 1 where the last wavelength is exactly 2 pi times the base, as in tensor2tensor; else 0. */
  readonly endpointShift: 0 | 1
  /** Added to the position before anything else. */
  readonly positionOffset: number
  readonly odd: "sine" | "pad" | "refuse"
  readonly says: string
}

const PAPER: Convention = {
  name: "transformer",
  title: "transformer (the paper)",
  layout: "interleaved",
  order: "sine-first",
  endpointShift: 0,
  positionOffset: 0,
  odd: "sine",
  says: "sine and cosine alternate, and the exponent is 2i / d",
}

export const CONVENTIONS: readonly Convention[] = [
  PAPER,
  {
    ...PAPER,
    name: "marian",
    title: "marian",
    layout: "halves",
    says: "the paper's values, all sines first and then all cosines",
  },
  {
    ...PAPER,
    name: "tensor2tensor",
    title: "tensor2tensor",
    layout: "halves",
    endpointShift: 1,
    odd: "pad",
    says: "all sines first, and a ladder that ends exactly at the base",
  },
  {
    ...PAPER,
    name: "fairseq",
    title: "fairseq",
    layout: "halves",
    endpointShift: 1,
    positionOffset: 2,
    odd: "pad",
    says: "as tensor2tensor, but the first token stands at position 2",
  },
  {
    ...PAPER,
    name: "openai-whisper",
    title: "openai-whisper",
    layout: "halves",
    endpointShift: 1,
    odd: "refuse",
    says: "as tensor2tensor, for frames of sound",
  },
  {
    ...PAPER,
    name: "musicgen",
    title: "musicgen",
    layout: "halves",
    order: "cosine-first",
    endpointShift: 1,
    odd: "pad",
    says: "as tensor2tensor, but the cosines come first",
  },
]

export function conventionNamed(name: string): Convention {
  const found = CONVENTIONS.find((convention) => convention.name === name)
  if (found === undefined) {
    const known = CONVENTIONS.map((convention) => convention.name).join(", ")
    throw new RangeError(`no convention "${name}" on this page; there are ${known}`)
  }
  return found
}
