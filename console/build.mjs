// Builds the console into server/console/dist: scripts in pieces that load when their page opens, one style sheet, all
// with a hash in their names, and index.html that names them; all but the icon compressed, as they are sent. The same
// sources and lock file give the same bytes: what another zlib would only compress otherwise is left as it is.
// With --watch it builds again at each change.
import { context } from 'esbuild'
import { mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import { gunzipSync, gzipSync } from 'node:zlib'

const OUT = new URL('../server/console/dist/', import.meta.url).pathname
const BUDGET = 400 * 1024 // bytes of all files, packed

const page = (script, style) => `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<meta name="color-scheme" content="light dark">
<title>settee</title>
<link rel="icon" href="/_console/icon.svg" type="image/svg+xml">
<link rel="stylesheet" href="/_console/${style}">
<script type="module" src="/_console/${script}"></script>
</head>
<body><noscript>The console needs JavaScript.</noscript></body>
</html>
`

// pack compresses a file that was built, unless what is there has the same content.
async function pack (name, text) {
  const packed = join(OUT, name + '.gz')
  const there = await readFile(packed).then(b => gunzipSync(b), () => undefined)
  if (there?.equals(text)) return
  await writeFile(packed, gzipSync(text, { level: 9 }))
}

// finish packs the files, writes index.html and the icon, takes away what earlier builds left, and holds the budget.
const finish = {
  name: 'finish',
  setup (build) {
    build.onEnd(async ({ metafile, outputFiles, errors }) => {
      if (errors.length > 0) return
      await mkdir(OUT, { recursive: true })
      for (const file of outputFiles) await pack(basename(file.path), Buffer.from(file.contents))
      const entry = Object.entries(metafile.outputs).find(([, o]) => o.entryPoint === 'src/main.tsx')
      await pack('index.html', Buffer.from(page(basename(entry[0]), basename(entry[1].cssBundle))))
      await writeFile(join(OUT, 'icon.svg'), await readFile('src/icon.svg'))
      const kept = new Set([...outputFiles.map(file => basename(file.path) + '.gz'), 'index.html.gz', 'icon.svg'])
      let packed = 0
      for (const file of await readdir(OUT)) {
        if (kept.has(file)) packed += (await stat(join(OUT, file))).size
        else await rm(join(OUT, file))
      }
      console.log(`${kept.size} files, ${(packed / 1024).toFixed(0)} KB packed of ${BUDGET / 1024} KB`)
      if (packed > BUDGET) throw new Error('the console is larger than its budget')
    })
  }
}

const work = await context({
  entryPoints: ['src/main.tsx'],
  outdir: OUT,
  entryNames: '[name]-[hash]',
  chunkNames: '[name]-[hash]',
  assetNames: '[name]-[hash]',
  bundle: true,
  splitting: true,
  format: 'esm',
  target: ['es2022', 'chrome123', 'firefox120', 'safari17.5'],
  minify: true,
  jsx: 'automatic',
  jsxImportSource: 'preact',
  legalComments: 'none',
  charset: 'utf8',
  metafile: true,
  write: false,
  logLevel: 'info',
  plugins: [finish]
})
if (process.argv.includes('--watch')) await work.watch()
else {
  await work.rebuild()
  await work.dispose()
}
