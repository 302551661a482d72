// Seals the built page: a policy that runs this very script and loads nothing, then puts it into the package.

import { createHash } from "node:crypto"
import { readFileSync, writeFileSync } from "node:fs"

const MOST_BYTES = 500_000
const built = new URL("../dist/page/index.html", import.meta.url)
const packaged = new URL("../../src/posenc/explorer/page.html", import.meta.url)

let html = readFileSync(built, "utf8")
const scripts = [...html.matchAll(/<script type="module"[^>]*>([\s\S]*?)<\/script>/g)].map((match) => match[1])
if (scripts.length !== 1 || scripts[0].length === 0) throw new Error(`${scripts.length} scripts, but one was wanted`)
const hash = createHash("sha256").update(scripts[0], "utf8").digest("base64")
const policy = [
  "default-src 'none'",
  `script-src 'sha256-${hash}'`,
  // Observable Plot writes style elements and attributes.
  "style-src 'unsafe-inline'",
  "img-src data:",
  "base-uri 'none'",
  "form-action 'none'",
].join("; ")
html = html.replace("<!-- policy -->", () => `<meta http-equiv="Content-Security-Policy" content="${policy}">`)

for (const slot of [
  '<script id="posenc-state" type="application/json">{}</script>',
  '<script id="posenc-report" type="application/json">null</script>',
]) {
  if (html.split(slot).length !== 2) throw new Error(`the slot ${slot} is not there just once`)
}
for (const left of ["<!-- policy -->", "<!-- licences -->", "<!-- section"]) {
  if (html.includes(left)) throw new Error(`${left} was not filled`)
}
if (/(?:src|href)="(?!#|data:)/.test(html.replace(scripts[0], "")))
  throw new Error("the page refers to something outside")
const size = Buffer.byteLength(html)
if (size >= MOST_BYTES) throw new Error(`${size} bytes, but ${MOST_BYTES} are the limit`)
writeFileSync(packaged, html)
console.log(`src/posenc/explorer/page.html: ${size} bytes`)
