/** Puts the page together: state from the address, views that draw it, and the core for the console. */

import { core } from "./core/api"
import { repairs } from "./core/repairs"
import { cleaned, fromFragment, type State, toFragment } from "./core/state"
import attention from "./data/attention.json"
import { addingView } from "./views/adding"
import { beyondView } from "./views/beyond"
import { breakingView } from "./views/breaking"
import { clocksView } from "./views/clocks"
import { controlsView } from "./views/controls"
import { byId } from "./views/dom"
import { heatView } from "./views/heat"
import { quietOutOfSight } from "./views/live"
import { orderView } from "./views/order"
import { Painter, type Placed } from "./views/painter"
import { quizView } from "./views/quiz"
import { drawReport, type Report } from "./views/report"
import { ribbonView } from "./views/ribbon"
import { rotaryView } from "./views/rotary"
import { similarityView } from "./views/similarity"
import { keepTablesFitting } from "./views/tables"
import { turnView } from "./views/turn"
import type { Journey, Store } from "./views/view"
import { wavesView } from "./views/waves"
import { whyView } from "./views/why"

const api = core(attention)

function slot(id: string): unknown {
  return JSON.parse(byId(id).textContent || "null") as unknown
}

/** What Python put into the page; the address goes before it. */
const given = (slot("posenc-state") ?? {}) as Record<string, unknown>
const start = cleaned(given)
let state = asked()

/** What the address asks for, as it can be shown. */
function asked(): State {
  return cleaned({ ...given, ...fromFragment(location.hash) })
}

const store: Store = {
  get state() {
    return state
  },
  set: (changes) => {
    const next = cleaned({ ...state, ...changes })
    const changed = (Object.keys(next) as (keyof State)[]).filter((key) => !isSame(next[key], state[key]))
    if (changed.length === 0) return
    state = next
    byId("repaired").textContent = ""
    painter.change(new Set(changed))
    window.clearTimeout(writing)
    writing = window.setTimeout(writeAddress, 150)
  },
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b)
}

const views: readonly Placed[] = [
  { place: "settings", view: controlsView(store) },
  { place: "ribbon", view: ribbonView() },
  { place: "order", view: orderView(store, api.layer) },
  { place: "table", view: heatView(store) },
  { place: "table", view: addingView(api.layer) },
  { place: "clocks", view: clocksView(store) },
  { place: "waves", view: wavesView() },
  { place: "turn", view: turnView() },
  { place: "similarity", view: similarityView() },
  { place: "break", view: breakingView(store) },
  { place: "why", view: whyView() },
  { place: "beyond", view: beyondView() },
  { place: "rotary", view: rotaryView() },
  { place: "quiz", view: quizView(visit) },
]

const painter = new Painter(views, () => state, ready)

/** Says once that all is drawn, and how many milliseconds that took. */
function ready(): void {
  document.documentElement.dataset["ready"] ??= String(Math.round(performance.now()))
}

let writing = 0

/** The address follows the state, without a new entry in the history for each move of a slider. */
function writeAddress(): void {
  history.replaceState(history.state, "", addressOf(state))
}

function addressOf(shown: State): string {
  const fragment = toFragment(shown, start)
  const here = location.href.split("#")[0] as string
  return fragment === "" ? here : `${here}#${fragment}`
}

/** Puts an address right that asks for what cannot be shown, and says what was changed. */
function mendAddress(): void {
  const changed = repairs(fromFragment(location.hash), state)
  writeAddress()
  byId("repaired").textContent = changed.length === 0 ? "" : `The address was put right: ${changed.join("; ")}.`
}

/** Goes to another place with other settings, as a new entry of the history; this one remembers where it was left. */
function visit({ from, to, changes }: Journey): void {
  window.clearTimeout(writing)
  history.replaceState({ place: from }, "", addressOf(state))
  store.set(changes)
  window.clearTimeout(writing)
  history.pushState({ place: to }, "", addressOf(state))
  painter.drawAll()
  goTo(to)
}

/** Scrolls to a section, or to a thing inside one, and leaves the address to the state. */
function goTo(place: string): void {
  const found = document.getElementById(place)
  if (found === null) return
  // With the picture of the table its axes are seen, too.
  const seen = found.closest("#heat") ?? found
  seen.scrollIntoView({ block: found.matches("section") ? "start" : "center" })
  found.focus({ preventScroll: true })
}

for (const link of document.querySelectorAll<HTMLAnchorElement>('a[href^="#"]')) {
  link.addEventListener("click", (event) => {
    event.preventDefault()
    goTo((link.getAttribute("href") as string).slice(1))
  })
}
window.addEventListener("hashchange", () => {
  if (location.hash.includes("=")) {
    store.set(asked())
    mendAddress()
  } else goTo(location.hash.slice(1))
})
window.addEventListener("popstate", (event) => {
  const { place } = (event.state ?? {}) as { place?: string }
  if (place === undefined) return
  store.set(asked())
  painter.drawAll()
  goTo(place)
})

let width = window.innerWidth
window.addEventListener("resize", () => {
  if (window.innerWidth === width) return
  width = window.innerWidth
  painter.change()
})
window.addEventListener("beforeprint", () => painter.drawAll())

// The first time all at once: who opens the page, or tests it, finds it whole.
painter.change()
painter.drawAll()
quietOutOfSight()
keepTablesFitting()
drawReport(slot("posenc-report") as Report | null, (fault) => {
  store.set({ break: fault })
  goTo("break")
})
if (location.hash.includes("=")) mendAddress()
else if (location.hash !== "") goTo(location.hash.slice(1))
Object.assign(window, {
  posenc: {
    ...api,
    get state() {
      return state
    },
    set: store.set,
  },
})
