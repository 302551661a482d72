/** A doctor's report, drawn as a section of the page where one was put in. */

import { CONVENTIONS } from "../core/conventions"
import { counted } from "../core/numbers"
import { byId, type Child, el } from "./dom"

interface Check {
  readonly id: string
  readonly status: "pass" | "fail" | "skip"
  readonly severity: "fault" | "risk" | "note"
  readonly measured?: unknown
  readonly limit?: unknown
  readonly reason?: string | null
  readonly fix?: string | null
  readonly docs?: string | null
}

export interface Report {
  readonly target: string
  readonly convention?: string | null
  readonly checks: readonly Check[]
}

const ORDER = { fail: 0, skip: 1, pass: 2 }
const RESULTS = { fail: "failed", skip: "skipped", pass: "passed" }
/** Checks by what their ids speak of, and the break of this page that shows the same fault. */
const SHOWN: readonly (readonly [RegExp, string])[] = [
  [/batch|axis/, "swapped-axes"],
  [/odd/, "odd-width"],
  [/max-?len|longer/, "max-len"],
  [/half|float16|autocast|cast/, "bfloat16-positions"],
  [/shift|rotation|turn/, "no-cosines"],
  [/layout|halves|interleaved/, "halves"],
]
const SEVERITY = { fault: 0, risk: 1, note: 2 }

/** Nothing happens where there is no report. */
export function drawReport(report: Report | null, see: (fault: string) => void): void {
  if (report === null) return
  const { checks } = report
  byId("report").hidden = false
  byId("report-entry").hidden = false
  const of = (status: Check["status"]): number => checks.filter((check) => check.status === status).length
  const faults = checks.filter((check) => check.status === "fail" && check.severity === "fault").length
  byId("report-lead").textContent =
    `${text(report.target)}${report.convention ? `, which speaks ${text(report.convention)}` : ""}: ` +
    `${counted(checks.length, "check")}, ${of("pass")} passed, ${of("fail")} failed, ${of("skip")} skipped. ` +
    (faults === 0 ? "No fault was found. " : `${counted(faults, "fault")} found. `) +
    (isDrawn(report) ? "The pictures above can be drawn in its convention: it is in the settings." : "")
  const sorted = [...checks].sort(
    (a, b) =>
      ORDER[a.status] - ORDER[b.status] || SEVERITY[a.severity] - SEVERITY[b.severity] || a.id.localeCompare(b.id),
  )
  byId("report-checks").replaceChildren(...sorted.map((check) => item(check, see)))
}

function isDrawn({ convention }: Report): boolean {
  return CONVENTIONS.some(({ name }) => name === convention)
}

function item(check: Check, see: (fault: string) => void): HTMLElement {
  const look =
    check.status === "pass"
      ? "holds"
      : check.status === "skip"
        ? "quiet"
        : check.severity === "fault"
          ? "falls"
          : "weak"
  const values = [
    ["measured", check.measured],
    ["limit", check.limit],
  ].flatMap(([name, value]) => (value === null || value === undefined ? [] : [`${text(name)}: ${text(value)}`]))
  const words: Child[] = [check.reason, check.fix, check.docs].filter(Boolean).map((each) => el("p", {}, text(each)))
  return el(
    "li",
    { class: `check check-${look}` },
    el(
      "p",
      { class: "check-title" },
      el("span", { class: `is-${look}` }, RESULTS[check.status]),
      ` ${text(check.id)} `,
      el("span", { class: "quiet" }, text(check.severity)),
    ),
    ...(values.length === 0 ? [] : [el("p", { class: "check-values" }, values.join(", "))]),
    ...words,
    ...seeIt(check, see),
  )
}

/** A failed check that this page can show is linked to its picture. */
function seeIt(check: Check, see: (fault: string) => void): HTMLElement[] {
  const shown = SHOWN.find(([pattern]) => pattern.test(check.id))
  if (check.status !== "fail" || shown === undefined) return []
  const button = el("button", { type: "button" }, "See this fault on a table")
  button.addEventListener("click", () => see(shown[1]))
  return [button]
}

function text(value: unknown): string {
  if (value === null || value === undefined) return "\u2013"
  return typeof value === "string" ? value : typeof value === "number" ? String(value) : JSON.stringify(value)
}
