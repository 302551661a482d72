/** Names the packages that ended up in the page, with their licences, in its footer. */

import { existsSync, readFileSync } from "node:fs"
import { join } from "node:path"
import type { Plugin } from "vite"

const PLACE = "<!-- licences -->"

interface Found {
  readonly name: string
  readonly copyright: string
  readonly text: string
}

/** "/x/node_modules/@a/b/src/c.js" -> "/x/node_modules/@a/b" */
function packageFolder(module: string): string | undefined {
  return /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(module.replaceAll("\0", ""))?.[0]
}

function read(folder: string): Found {
  const about = JSON.parse(readFileSync(join(folder, "package.json"), "utf8")) as Record<string, string>
  const name = `${about["name"]} ${about["version"]}`
  const file = ["LICENSE", "LICENSE.md", "LICENCE", "license"].map((each) => join(folder, each)).find(existsSync)
  if (file === undefined) throw new Error(`${name} has no licence file`)
  const lines = readFileSync(file, "utf8").trim().split(/\r?\n/)
  const isCopyright = (line: string): boolean => /^copyright (\(c\) )?\d{4}/i.test(line.trim())
  return {
    name,
    copyright: lines.filter(isCopyright).join(" "),
    text: lines
      .filter((line) => !isCopyright(line))
      .join("\n")
      .replace(/[ \t]*\n(?!\n)(?<!\n\n)/g, " ")
      .replace(/ +/g, " ")
      .trim(),
  }
}

function escaped(text: string): string {
  return text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;")
}

/** Packages under the same words share one copy of them. */
function written(found: readonly Found[]): string {
  const groups = new Map<string, Found[]>()
  for (const each of found) groups.set(each.text, [...(groups.get(each.text) ?? []), each])
  return [...groups]
    .map(([text, members]) => {
      const names = members.map(({ name, copyright }) => `<li>${escaped(`${name}. ${copyright}`)}</li>`)
      return `<ul>${names.join("")}</ul><p>${escaped(text)}</p>`
    })
    .join("")
}

export function licences(): Plugin {
  return {
    name: "licences",
    enforce: "post",
    // After Vite wrote the HTML, before the scripts are put into it and forgotten.
    generateBundle(_, bundle) {
      const folders = Object.values(bundle)
        .flatMap((chunk) => (chunk.type === "chunk" ? chunk.moduleIds : []))
        .flatMap((module) => packageFolder(module) ?? [])
      const found = [...new Set(folders)].sort().map(read)
      for (const file of Object.values(bundle)) {
        if (file.type === "asset" && file.fileName.endsWith(".html")) {
          file.source = String(file.source).replace(PLACE, () => written(found))
        }
      }
    },
  }
}
