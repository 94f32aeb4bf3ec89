// Runs the tests of src/**/*.test.ts in Node: they are bundled one by one, since Node does not read TypeScript.
import { build } from 'esbuild'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readdirSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

const tests = readdirSync('src', { recursive: true }).filter(name => name.endsWith('.test.ts')).map(name => join('src', name))
const out = mkdtempSync(join(tmpdir(), 'console-test-'))
await build({
  entryPoints: tests, outdir: out, bundle: true, platform: 'node', format: 'esm', outExtension: { '.js': '.mjs' },
  jsx: 'automatic', jsxImportSource: 'preact', logLevel: 'warning'
})
const files = readdirSync(out, { recursive: true }).filter(name => name.endsWith('.mjs')).map(name => join(out, name))
const { status } = spawnSync(process.execPath, ['--test', ...files], { stdio: 'inherit' })
rmSync(out, { recursive: true })
process.exit(status ?? 1)
