/** Multi-head self-attention with weights that torch.nn.MultiheadAttention holds, in double precision. */

export interface Exported {
  readonly dim: number
  readonly heads: number
  readonly in_proj_weight: string
  readonly in_proj_bias: string
  readonly out_proj_weight: string
  readonly out_proj_bias: string
}

export interface Layer {
  readonly dim: number
  readonly heads: number
  readonly inWeight: Float32Array
  readonly inBias: Float32Array
  readonly outWeight: Float32Array
  readonly outBias: Float32Array
}

export interface Attended {
  /** words x dim */
  readonly output: Float64Array[]
  /** heads x words x words: how much word q looks at word k */
  readonly weights: Float64Array[][]
}

export function layerFrom(exported: Exported): Layer {
  const { dim, heads } = exported
  return {
    dim,
    heads,
    inWeight: floats(exported.in_proj_weight, 3 * dim * dim),
    inBias: floats(exported.in_proj_bias, 3 * dim),
    outWeight: floats(exported.out_proj_weight, dim * dim),
    outBias: floats(exported.out_proj_bias, dim),
  }
}

/** Little-endian float32 from base64. */
function floats(text: string, count: number): Float32Array {
  const bytes = Uint8Array.from(atob(text), (character) => character.charCodeAt(0))
  if (bytes.length !== 4 * count) throw new RangeError(`${bytes.length} bytes of weights where ${4 * count} belong`)
  const view = new DataView(bytes.buffer)
  return Float32Array.from({ length: count }, (_, i) => view.getFloat32(4 * i, true))
}

/** weight (rows x columns, row after row) times x, plus bias. */
function linear(weight: Float32Array, bias: Float32Array, x: Float64Array): Float64Array {
  const columns = x.length
  return Float64Array.from(bias, (start, row) => {
    let sum = start
    for (let j = 0; j < columns; j++) sum += (weight[row * columns + j] as number) * (x[j] as number)
    return sum
  })
}

/** Softmax(Q K^T / sqrt(d_k)) V for each head, joined and projected: what torch computes in eval mode. */
export function attend(layer: Layer, inputs: readonly Float64Array[]): Attended {
  const { dim, heads } = layer
  const width = dim / heads
  const projected = inputs.map((x) => linear(layer.inWeight, layer.inBias, x))
  const joined = inputs.map(() => new Float64Array(dim))
  const order = byInput(inputs)
  const weights = Array.from({ length: heads }, (_, head) =>
    projected.map((own, query) => {
      const scores = scoresOf(own, projected, head * width, width, dim)
      const shares = softmax(scores, order)
      mix(joined[query] as Float64Array, projected, shares, order, head * width, width, 2 * dim)
      return shares
    }),
  )
  return { output: joined.map((x) => linear(layer.outWeight, layer.outBias, x)), weights }
}

/** How well one word's query fits each word's key, in one head. */
function scoresOf(
  own: Float64Array,
  all: readonly Float64Array[],
  first: number,
  width: number,
  dim: number,
): Float64Array {
  return Float64Array.from(all, (other) => {
    let sum = 0
    for (let j = first; j < first + width; j++) sum += (own[j] as number) * (other[dim + j] as number)
    return sum / Math.sqrt(width)
  })
}

/**
 * Sums run over the words in an order of their inputs, not of their places:
 * then rounding cannot tell the order of a sentence, and equal sums are equal to the last bit.
 */
function byInput(inputs: readonly Float64Array[]): number[] {
  return inputs.map((_, key) => key).sort((a, b) => compareInputs(inputs[a] as Float64Array, inputs[b] as Float64Array))
}

function compareInputs(a: Float64Array, b: Float64Array): number {
  const j = a.findIndex((value, index) => value !== b[index])
  return j < 0 ? 0 : (a[j] as number) - (b[j] as number)
}

function softmax(scores: Float64Array, order: readonly number[]): Float64Array {
  const largest = scores.reduce((most, score) => Math.max(most, score), -Infinity)
  const raised = scores.map((score) => Math.exp(score - largest))
  let total = 0
  for (const key of order) total += raised[key] as number
  return raised.map((value) => value / total)
}

/** Adds the values of all words, each with its share, to one head's part of the output. */
function mix(
  out: Float64Array,
  all: readonly Float64Array[],
  shares: Float64Array,
  order: readonly number[],
  first: number,
  width: number,
  values: number,
): void {
  for (const key of order) {
    const share = shares[key] as number
    const other = all[key] as Float64Array
    for (let j = first; j < first + width; j++) out[j] = (out[j] as number) + share * (other[values + j] as number)
  }
}
