/** The lesson's questions: each answer is checked, explained, and linked to the cell that shows it. */

import { cellText } from "../core/cell"
import { plan, similarity } from "../core/encoding"
import { fixed } from "../core/numbers"
import type { State } from "../core/state"
import { byId, el, readable } from "./dom"
import type { Journey, View } from "./view"

interface Question {
  readonly id: string
  readonly asks: string
  readonly answers: readonly string[]
  readonly right: number
  readonly because: string
  /** Where to look. */
  readonly show?: { readonly label: string; readonly place: string; readonly state: Partial<State> }
}

/** The last distance before the first rise, at the width of the quiz. */
const RISE = 43
const CELL = { dim: 512, length: 64, position: 20, base: 10000, convention: "transformer" } as const

/** The picture of the table, where the arrow keys walk. */
const PICTURE = "heat-canvas"

function questions(): Question[] {
  const curve = (k: number): string => fixed(similarity(k, plan(CELL.dim)), 3)
  return [
    {
      id: "index-99",
      asks: "The 100th dimension of its vector has index 99. Which function is in it?",
      answers: ["sine", "cosine"],
      right: 1,
      because: `99 is odd, 2 · 49 + 1, so it is the cosine of pair 49: ${readable(cellText(20, 99, 512))}.`,
      show: { label: "Show the cell at index 99", place: PICTURE, state: { ...CELL, dimension: 99 } },
    },
    {
      id: "index-100",
      asks: "And in the 101st dimension, at index 100?",
      answers: ["sine", "cosine"],
      right: 0,
      because: `100 is even, 2 · 50, so it is the sine of pair 50: ${readable(cellText(20, 100, 512))}.`,
      show: { label: "Show the cell at index 100", place: PICTURE, state: { ...CELL, dimension: 100 } },
    },
    {
      id: "buffer",
      asks: "Why does a PyTorch layer keep the table with register_buffer and not as a plain attribute, self.pe = pe?",
      answers: [
        "So that the optimiser can train it.",
        "So that .to(device) moves it and the state dict can hold it, while the optimiser leaves it alone.",
        "So that it takes less memory.",
      ],
      right: 1,
      because:
        "A buffer belongs to the module: it moves and changes its dtype with it, and is saved unless it is registered with persistent=False. " +
        "It is not a parameter, so no gradient step touches it. A plain tensor attribute stays behind on the old device, and is not saved.",
    },
    {
      id: "monotone",
      asks: "The similarity of two rows gets smaller with each step of distance. True?",
      answers: ["True", "False"],
      right: 1,
      because: `On the whole it falls, but not at each step. At width ${CELL.dim} it is ${curve(RISE)} at distance ${RISE} and ${curve(RISE + 1)} at distance ${RISE + 1}.`,
      show: {
        label: "Show the curve",
        place: "similarity",
        state: { ...CELL, offset: RISE + 1 },
      },
    },
    {
      id: "length",
      asks: "The formula has a value at position 100 000. A model trained on 512 words therefore handles 100 000. True?",
      answers: ["True", "False"],
      right: 1,
      because:
        "The encoding is defined there, the model was never trained there. In the published table above, " +
        "perplexity with sinusoids is 20.05 on the trained 512 tokens and 209.37 on 4512.",
      show: { label: "Show the published curves", place: "beyond", state: {} },
    },
  ]
}

export function quizView(visit: (journey: Journey) => void): View {
  const given = new Map<string, boolean>()
  const all = questions()
  const score = (): void => {
    const right = [...given.values()].filter(Boolean).length
    byId("quiz-score").textContent =
      given.size === 0
        ? `${all.length} questions, none answered yet.`
        : `${right} of ${given.size} answered right, ${all.length} questions in all.`
  }
  const made = all.map((question, number) => {
    const reply = el("p", { class: "reply", "aria-live": "polite" })
    const choices = question.answers.map((answer, index) => {
      const id = `quiz-${question.id}-${index}`
      const input = el("input", { type: "radio", name: `quiz-${question.id}`, id, value: String(index) })
      input.addEventListener("change", () => {
        const isRight = index === question.right
        given.set(question.id, isRight)
        reply.className = `reply ${isRight ? "is-holds" : "is-falls"}`
        reply.textContent = `${isRight ? "Right." : "No."} ${question.because}`
        show?.removeAttribute("hidden")
        score()
      })
      return el("label", { class: "choice", for: id }, input, answer)
    })
    const { show: target } = question
    const from = `quiz-show-${question.id}`
    const show = target === undefined ? undefined : el("button", { type: "button", hidden: "", id: from }, target.label)
    if (target !== undefined)
      show?.addEventListener("click", () => visit({ from, to: target.place, changes: target.state }))
    return el(
      "fieldset",
      { class: "question" },
      el("legend", {}, `${number + 1}. ${question.asks}`),
      ...choices,
      reply,
      ...(show === undefined ? [] : [show]),
    )
  })
  byId("questions").replaceChildren(...made)
  return { keys: [], draw: score }
}
