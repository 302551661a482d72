/** Published numbers that the page quotes, with where they stand. Nothing here was measured by the page. */

/** Press et al., 2108.12409, table 2: WikiText-103, 247 million parameters, trained on 512 tokens; perplexity. */
export const LENGTHS_TRIED = [512, 532, 612, 712, 1012, 1512, 2512, 4512, 15512] as const

export interface Curve {
  readonly name: string
  /** null where the authors ran out of memory. */
  readonly perplexity: readonly (number | null)[]
}

export const EXTRAPOLATION: readonly Curve[] = [
  { name: "Sinusoidal", perplexity: [20.05, 19.91, 20.59, 24.86, 43.54, 76.23, 132.41, 209.37, 406.01] },
  { name: "Rotary", perplexity: [20.07, 19.98, 19.81, 19.79, 21.37, 25.99, 31.58, 39.15, 79.25] },
  { name: "T5 bias", perplexity: [19.65, 19.53, 19.27, 19.1, 18.79, 18.91, 20.41, 25.91, null] },
  { name: "ALiBi", perplexity: [19.73, 19.61, 19.38, 19.14, 18.73, 18.52, 18.41, 18.41, 18.31] },
]
