/** The core as one object, for tests and for the curious at the browser's console. */

import { attend, type Exported, layerFrom } from "./attention"
import { cellText } from "./cell"
import { encode, plan, similarity, table } from "./encoding"
import { compare, run, wordsOf } from "./experiment"
import { shiftMatrix } from "./matrix"
import { firstRise } from "./measures"
import { splitWords, wordVector } from "./words"

/** Everything that needs no page. */
export function core(exported: Exported) {
  const layer = layerFrom(exported)
  return {
    encode,
    plan,
    table,
    similarity,
    firstRise,
    shiftMatrix,
    cellText,
    splitWords,
    wordVector,
    attend,
    layer,
    /** One sentence through the page's attention layer: its words, and words x dim numbers. */
    attention: (sentence: string, options: { encoding?: boolean } = {}) => {
      const { words, output, weights } = run(layer, wordsOf(sentence), options.encoding ?? true)
      return {
        words: [...words],
        output: output.map((row) => Array.from(row)),
        weights: weights.map((head) => head.map((row) => Array.from(row))),
      }
    },
    compare: (first: string, second: string, encoding: boolean) =>
      compare(layer, wordsOf(first), wordsOf(second), encoding),
  }
}
