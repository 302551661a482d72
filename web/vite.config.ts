/** Builds the page: one HTML file in dist/, which build/finish.mjs then seals. */

import { readFileSync } from "node:fs"
import { defineConfig, type Plugin } from "vite"
import { viteSingleFile } from "vite-plugin-singlefile"
import { licences } from "./build/licences"

/** Puts src/sections/NAME.html where index.html says <!-- section NAME -->. */
function sections(): Plugin {
  return {
    name: "sections",
    transformIndexHtml: {
      order: "pre",
      handler: (html) =>
        html.replace(/<!-- section ([a-z-]+) -->/g, (_, name: string) =>
          readFileSync(new URL(`src/sections/${name}.html`, import.meta.url), "utf8"),
        ),
    },
  }
}

export default defineConfig({
  plugins: [sections(), licences(), viteSingleFile()],
  build: { target: "es2022", outDir: "dist/page", modulePreload: false, reportCompressedSize: false },
})
