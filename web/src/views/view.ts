/** What a view is: a part of the page that draws itself from the state. */

import type { State } from "../core/state"

export interface Store {
  readonly state: State
  set: (changes: Partial<State>) => void
}

/** From one element of the page to another one, with other settings; the browser's Back undoes both. */
export interface Journey {
  readonly from: string
  readonly to: string
  readonly changes: Partial<State>
}

export interface View {
  /** The parts of the state that the view depends on. */
  readonly keys: readonly (keyof State)[]
  readonly draw: (state: State) => void
}

/** The keys that choose an encoding. */
export const ENCODING = ["dim", "base", "convention"] as const
