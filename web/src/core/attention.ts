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
  const weights: Float64Array[][] = []
  for (let head = 0; head < heads; head++) {
    const first = head * width
    weights.push(
      projected.map((own, query) => {
        const scores = projected.map((other) => {
          let sum = 0
          for (let j = 0; j < width; j++) sum += (own[first + j] as number) * (other[dim + first + j] as number)
          return sum / Math.sqrt(width)
        })
        const shares = softmax(scores)
        const out = joined[query] as Float64Array
        for (let j = 0; j < width; j++) {
          out[first + j] = weighted(scores, shares, (key) => projected[key]?.[2 * dim + first + j] as number)
        }
        return shares
      }),
    )
  }
  return { output: joined.map((x) => linear(layer.outWeight, layer.outBias, x)), weights }
}

/**
 * Sums run over the words in the order of their scores, not of their places:
 * then rounding cannot tell the order of a sentence, and equal sums are equal to the last bit.
 */
function byScore(scores: readonly number[]): number[] {
  return scores.map((_, key) => key).sort((a, b) => (scores[b] as number) - (scores[a] as number))
}

const orders = new WeakMap<readonly number[], number[]>()

function orderOf(scores: readonly number[]): number[] {
  let order = orders.get(scores)
  if (order === undefined) orders.set(scores, (order = byScore(scores)))
  return order
}

function softmax(scores: readonly number[]): Float64Array {
  const order = orderOf(scores)
  const largest = scores[order[0] as number] as number
  const raised = Float64Array.from(scores, (score) => Math.exp(score - largest))
  let total = 0
  for (const key of order) total += raised[key] as number
  return raised.map((value) => value / total)
}

function weighted(scores: readonly number[], shares: Float64Array, value: (key: number) => number): number {
  let sum = 0
  for (const key of orderOf(scores)) sum += (shares[key] as number) * value(key)
  return sum
}
