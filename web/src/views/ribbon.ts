/** The band over the title: 320 positions from left to right, 40 pairs from fast to slow. */

import { plan } from "../core/encoding"
import { sineCosine } from "../core/phase"
import { paint } from "./colour"
import { byId } from "./dom"
import type { View } from "./view"

const PAIRS = 40
const POSITIONS = 320

export function ribbonView(): View {
  return {
    keys: ["colours"],
    draw: (state) => {
      const { steps } = plan(2 * PAIRS)
      paint(
        byId("ribbon", HTMLCanvasElement),
        {
          columns: POSITIONS,
          rows: PAIRS,
          value: (pair, position) => sineCosine(position, steps[pair] as (typeof steps)[number])[0],
        },
        state.colours,
      )
    },
  }
}
