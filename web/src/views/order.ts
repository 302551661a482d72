/** The permutation experiment: two sentences through real attention, pictures, verdicts and numbers. */

import type { Layer } from "../core/attention"
import {
  type Comparison,
  compare,
  isRounding,
  type Relation,
  type Run,
  relation,
  repeated,
  wordsOf,
} from "../core/experiment"
import { counted, fixed, short } from "../core/numbers"
import { DEFAULT, MOST_CHARACTERS, type State } from "../core/state"
import { MOST_WORDS, splitWords } from "../core/words"
import { byId, el, headings, row } from "./dom"
import { maps } from "./maps"
import { strip } from "./strip"
import type { Store, View } from "./view"

const MOST_DRAWN = 24
const MOST_LISTED = 12
const HEADINGS = [
  "word",
  "place",
  "its 32 outputs",
  "the first of them, in the first sentence",
  "in the second",
] as const
const TITLES = ["First sentence", "Second sentence"] as const

export function orderView(store: Store, layer: Layer): View {
  const boxes = [byId("sentence-0", HTMLTextAreaElement), byId("sentence-1", HTMLTextAreaElement)] as const
  const set = (first: string, second: string): void => store.set({ sentences: [first, second] })
  boxes.forEach((box) => {
    box.maxLength = MOST_CHARACTERS
    box.addEventListener("input", () => set(boxes[0].value, boxes[1].value))
  })
  byId("sentences-form").addEventListener("submit", (event) => event.preventDefault())
  byId("sentences-reset").addEventListener("click", () => set(...DEFAULT.sentences))
  byId("sentences-shuffle").addEventListener("click", () =>
    set(boxes[0].value, shuffled(wordsOf(boxes[0].value)).join(" ")),
  )
  const details = byId("attention-details", HTMLDetailsElement)
  let last: Comparison | undefined
  details.addEventListener("toggle", () => drawMaps())

  function drawMaps(): void {
    if (details.open && last !== undefined) maps(byId("attention-maps"), last.runs, store.state.colours)
  }

  return {
    keys: ["sentences", "colours"],
    draw: (state) => {
      boxes.forEach((box, i) => {
        if (box.value !== state.sentences[i]) box.value = state.sentences[i] as string
      })
      const [first, second] = state.sentences.map(wordsOf) as [string[], string[]]
      const kind = relation(first, second)
      byId("sentences-note").textContent = note(state, first, second, kind)
      const runs = [compare(layer, first, second, false), compare(layer, first, second, true)] as const
      const longest = Math.max(first.length, second.length)
      const largest = Math.max(0, ...runs.flatMap(({ shared }) => shared.map(({ difference }) => difference)))
      // Drawn to their own scale, differences that are rounding would look like something.
      const most = isRounding(largest, longest, layer.dim) ? 0 : largest
      for (const [name, comparison] of [
        ["without", runs[0]],
        ["with", runs[1]],
      ] as const) {
        const scale = Math.max(1e-9, ...comparison.runs.flatMap(sizes))
        byId(`scale-${name}`).textContent =
          kind === "empty"
            ? ""
            : `Colours run from \u2212${fixed(scale, 2)} to ${fixed(scale, 2)}` +
              (most > 0 ? `, those of the differences from \u2212${short(most)} to ${short(most)}.` : ".")
        byId(`outputs-${name}`).replaceChildren(
          ...comparison.runs.map((run, i) => panel(run, TITLES[i] as string, scale, state, longest, comparison)),
          ...(comparison.shared.length === 0 ? [] : [differences(comparison, most, state, longest)]),
        )
        byId(`verdict-${name}`).textContent = verdict(comparison, kind, name === "with") + twice(comparison.runs[0])
        byId(`numbers-${name}`).replaceChildren(...numbers(comparison))
      }
      byId("experiment-caption").textContent =
        `Each strip is one word's output, ${layer.dim} numbers; the third picture takes the strip of a word in one sentence from its strip in the other. ` +
        "A word's input vector is made from its letters and is the same wherever the word stands. " +
        "Sums over words run in an order that their places do not change, so that rounding cannot tell one order from another."
      last = runs[1]
      drawMaps()
    },
  }
}

function sizes(run: Run): number[] {
  return run.output.map((vector) => vector.reduce((most, value) => Math.max(most, Math.abs(value)), 0))
}

/** The words in another order, where there is another. */
function shuffled(words: readonly string[]): string[] {
  const order = [...words]
  if (new Set(words).size < 2) return order
  for (let i = order.length - 1; i > 0; i--) {
    const j = Math.floor(Math.random() * (i + 1))
    ;[order[i], order[j]] = [order[j] as string, order[i] as string]
  }
  return relation(words, order) === "same" ? shuffled(words) : order
}

function note(state: State, first: readonly string[], second: readonly string[], kind: Relation): string {
  const cut = state.sentences.some((sentence) => splitWords(sentence).length > MOST_WORDS)
  const limit = cut ? ` Only the first ${MOST_WORDS} words of a sentence are read.` : ""
  const texts: Readonly<Record<Relation, string>> = {
    empty: "Write at least one word into each box. Punctuation and symbols, emoji among them, are no words here.",
    same: "The two are the same, word for word. Change the order of one of them.",
    reordered: `The same ${counted(first.length, "word")} in another order: whatever differs below is due to order alone.`,
    different: `The two do not have the same words (${counted(first.length, "word")} and ${second.length}), so their outputs may differ for that reason too.`,
  }
  return texts[kind] + limit
}

function panel(
  run: Run,
  title: string,
  scale: number,
  state: State,
  longest: number,
  comparison: Comparison,
): HTMLElement {
  const drawn = Math.min(run.words.length, MOST_DRAWN)
  const equal = new Set(comparison.shared.filter(({ difference }) => difference === 0).map(({ word }) => word))
  const strips = run.words
    .slice(0, drawn)
    .map((word, place) => named(word, run.output[place] as Float64Array, scale, state))
  const more =
    run.words.length > drawn
      ? [el("p", { class: "small" }, `and ${run.words.length - drawn} more words, computed but not drawn`)]
      : []
  const label = `${title}: ${equal.size === 0 ? "no word" : [...equal].slice(0, MOST_LISTED).join(", ")} with outputs as in the other`
  return el(
    "div",
    { class: "panel", role: "group", "aria-label": label, style: `--words: ${Math.min(longest, MOST_DRAWN)}` },
    el("p", { class: "panel-title" }, title),
    el("ol", { class: "strips" }, ...strips),
    ...more,
  )
}

/** For each word in common, its output in the second sentence less that in the first. */
function differences({ runs, shared }: Comparison, most: number, state: State, longest: number): HTMLElement {
  const strips = shared.slice(0, MOST_DRAWN).map(({ word, places }) => {
    const [from, to] = places.map((place, i) => runs[i]?.output[place]) as [Float64Array, Float64Array]
    return named(
      word,
      to.map((value, j) => value - (from[j] as number)),
      most > 0 ? most : 1,
      state,
    )
  })
  return el(
    "div",
    {
      class: "panel",
      role: "group",
      "aria-label": "Differences, word by word",
      style: `--words: ${Math.min(longest, MOST_DRAWN)}`,
    },
    el("p", { class: "panel-title" }, "Difference, word by word"),
    el("ol", { class: "strips" }, ...strips),
  )
}

function named(word: string, values: Float64Array, scale: number, state: State): HTMLElement {
  return el("li", {}, el("bdi", { class: "word" }, word), strip(values, scale, state.colours))
}

/** What the pictures show, in words. Equal means equal in every bit. */
function verdict({ runs, shared, pooled }: Comparison, kind: Relation, encoded: boolean): string {
  if (kind === "empty") return "Nothing to compare yet."
  if (shared.length === 0) return "The two sentences have no word in common."
  const equal = shared.filter(({ difference }) => difference === 0)
  const most = shared.reduce((largest, each) => Math.max(largest, each.difference), 0)
  const means =
    pooled === 0
      ? "The means over all words are equal, too."
      : `The means over all words differ by up to ${told(pooled, runs)}.`
  if (equal.length === shared.length) {
    const whose = shared.length === 1 ? "The word in common has" : `All ${shared.length} words in common have`
    return `${whose} the same output in both sentences, equal to the last digit. ${means}`
  }
  const but =
    equal.length === 0 ? "" : ` ${counted(equal.length, "word")} of ${shared.length} came out equal to the last digit.`
  const who = encoded ? "Now the layer can tell the sentences apart: o" : "O"
  return `${kind === "reordered" ? who : "O"}utputs of the same word differ by up to ${told(most, runs)}.${but} ${means}`
}

/** A difference of outputs, with the word for it where it is no more than rounding. */
function told(difference: number, runs: readonly Run[]): string {
  const words = Math.max(...runs.map((run) => run.words.length))
  const dim = runs[0]?.output[0]?.length ?? 0
  return short(difference) + (isRounding(difference, words, dim) ? ", which is rounding" : "")
}

/** What becomes of a word that stands twice in one sentence. */
function twice(run: Run): string {
  const found = repeated(run)
  if (found === undefined) return ""
  const apart =
    found.difference === 0
      ? "has the same output in each, equal to the last digit"
      : `has outputs up to ${told(found.difference, [run])} apart`
  return ` Inside the first sentence, \u2068${found.word}\u2069 stands in more than one place and ${apart}.`
}

function numbers({ runs, shared }: Comparison): HTMLElement[] {
  if (shared.length === 0) return []
  const rows = shared.slice(0, MOST_LISTED).map(({ word, places, difference }) => {
    const [first, second] = places.map((place, i) => runs[i]?.output[place]?.[0] as number)
    const [a, b] = [first, second].map((value) => String(value).replace("-", "\u2212")) as [string, string]
    return row(
      el("bdi", {}, word),
      `${places[0] + 1} \u2192 ${places[1] + 1}`,
      difference === 0 ? "equal to the last digit" : `differ by up to ${told(difference, runs)}`,
      a,
      b,
    )
  })
  const left = shared.length - rows.length
  const more = left > 0 ? [el("caption", {}, `and ${counted(left, "word")} more, measured above`)] : []
  return [...more, headings(...HEADINGS), el("tbody", {}, ...rows)]
}
