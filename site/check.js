// Looks at the built site as a browser without a network would: every address that a page names is a file of it, every
// anchor is an element of that file, nothing is fetched from another host, no page of docs/ is missing, and search
// finds a word of each page.
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs'
import { join, posix } from 'node:path'
import { fileURLToPath } from 'node:url'

const dist = fileURLToPath(new URL('dist/', import.meta.url))
const docs = fileURLToPath(new URL('../docs/', import.meta.url))
const problems = []

function files (folder, ending) {
  return readdirSync(folder, { recursive: true }).filter(name => name.endsWith(ending)).sort()
}

const text = new Map(files(dist, '.html').map(name => [name, readFileSync(join(dist, name), 'utf8')]))
const ids = new Map([...text].map(([name, html]) => [name, new Set([...html.matchAll(/ id="([^"]+)"/g)].map(match => match[1]))]))

let links = 0
for (const [name, html] of text) {
  for (const [, element, attribute, value] of html.matchAll(/<(\w+)[^>]*? (href|src)="([^"]*)"/g)) {
    const address = decodeURI(value.replaceAll('&amp;', '&'))
    if (/^(data|mailto):/.test(address)) continue
    if (/^(https?:)?\/\//.test(address)) {
      if (element !== 'a' || attribute === 'src') problems.push(`${name} fetches ${address}`)
      continue
    }
    links++
    const [path, anchor] = address.split('#')
    let target = path === '' ? name : path.startsWith('/') ? path.slice(1) : posix.join(posix.dirname(name), path)
    if (existsSync(join(dist, target)) && statSync(join(dist, target)).isDirectory()) target = posix.join(target, 'index.html')
    if (!existsSync(join(dist, target))) problems.push(`${name} leads to ${address}, which is not there`)
    else if (anchor && ids.has(target) && !ids.get(target).has(decodeURIComponent(anchor))) problems.push(`${name} leads to ${address}, which has no such place`)
  }
}
for (const style of files(dist, '.css')) {
  for (const [, address] of readFileSync(join(dist, style), 'utf8').matchAll(/url\(["']?((?:https?:)?\/\/[^)"']+)/g)) problems.push(`${style} fetches ${address}`)
}

// The index of search is a module whose default is the text that MiniSearch writes; it has the address of each page.
const index = files(dist, '.js').map(name => join(dist, name)).filter(name => name.includes('localSearchIndex'))
const searched = index.map(name => readFileSync(name, 'utf8')).join('')
for (const page of files(docs, '.md')) {
  const built = page.replace(/README\.md$/, 'index.md').replace(/\.md$/, '.html')
  if (!text.has(built)) problems.push(`${page} is not in the site`)
  if (!searched.includes('/' + built.replace(/(^|\/)index\.html$/, '$1'))) problems.push(`search does not know ${built}`)
}

for (const problem of problems) console.error(problem)
console.log(`${text.size} pages, ${links} links, ${problems.length} problems`)
process.exitCode = problems.length > 0 || links < text.size ? 1 : 0
