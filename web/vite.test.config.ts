/** Builds the tests of the core for Node's own test runner. */

import { readdirSync } from "node:fs"
import { defineConfig } from "vite"

const tests = readdirSync(new URL("test/", import.meta.url)).filter((name) => name.endsWith(".test.ts"))

export default defineConfig({
  build: {
    ssr: true,
    outDir: "dist/test",
    target: "node20",
    rollupOptions: { input: tests.map((name) => `test/${name}`), output: { entryFileNames: "[name].mjs" } },
  },
})
