/** Tables that fit whatever the reader's fonts are: where one is wider than its box, each row becomes a block of lines. */

const TABLES = ".scroll > table:is(.measured, .numbers)"
/** A4 without its margins, in pixels. */
const PAPER = 640

/** Fits all tables of a part of the page, in the room that they have. */
export function fitTables(root: ParentNode, most = Infinity): void {
  for (const table of root.querySelectorAll<HTMLTableElement>(TABLES)) {
    label(table)
    table.classList.remove("stacked")
    const room = Math.min(most, (table.parentElement as HTMLElement).clientWidth)
    // Where a table is out of sight, as in a closed disclosure, both are zero.
    table.classList.toggle("stacked", table.getBoundingClientRect().width > room + 0.5)
  }
}

/** Keeps tables fitting where the views do not draw: a disclosure that opens, and paper. */
export function keepTablesFitting(): void {
  document.addEventListener("toggle", (event) => fitTables(event.target as Element), { capture: true })
  window.addEventListener("beforeprint", () => fitTables(document, PAPER))
  window.addEventListener("afterprint", () => fitTables(document))
}

/** Each cell carries its heading, for the lines. */
function label(table: HTMLTableElement): void {
  const names = [...(table.tHead?.rows[0]?.cells ?? [])].map((cell) => cell.textContent ?? "")
  for (const row of table.tBodies[0]?.rows ?? []) {
    for (const [i, cell] of [...row.cells].entries()) cell.setAttribute("data-label", names[i] ?? "")
  }
}
