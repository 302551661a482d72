/** What a view is: a part of the page that draws itself from the state. */

import type { State } from "../core/state"

export interface Store {
  readonly state: State
  set: (changes: Partial<State>) => void
}

export interface View {
  /** The parts of the state that the view depends on. */
  readonly keys: readonly (keyof State)[]
  readonly draw: (state: State) => void
}

/** The keys that choose an encoding. */
export const ENCODING = ["dim", "base", "convention"] as const
