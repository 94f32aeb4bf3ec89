// The site is the pages of docs/ as they are. What a page links to outside of docs/ is in the repository.
import { readdirSync, readFileSync } from 'node:fs'
import { posix } from 'node:path'
import { fileURLToPath } from 'node:url'

const repository = 'https://github.com/settee-db/settee/blob/main/'
const docs = new URL('../../docs/', import.meta.url)

// What pages are compiled to imports Vue, which is not found from docs/: node_modules is in another folder.
const vue = [
  { find: /^vue\/server-renderer$/, replacement: fileURLToPath(import.meta.resolve('vue/server-renderer')) },
  { find: /^vue$/, replacement: fileURLToPath(new URL('../node_modules/vue/dist/vue.runtime.esm-bundler.js', import.meta.url)) }
]

// The title of a page is its first heading.
function title (page) {
  return readFileSync(new URL(page, docs), 'utf8').match(/^# (.+)$/m)[1]
}

function item (page) {
  return { text: title(page), link: '/' + page.replace(/README\.md$/, '').replace(/\.md$/, '') }
}

function pages (folder, leftOut = []) {
  return readdirSync(new URL(folder, docs)).filter(name => name.endsWith('.md')).map(name => folder + name)
    .filter(name => !leftOut.includes(name)).sort()
}

// The bar at the side: each page once. A page that no group names is among the last of the manual.
const groups = {
  'First steps': ['start.md', 'migrating.md', 'moving.md', 'raspberry.md', 'applications.md'],
  'Guides': pages('guides/'),
  'Running it': ['operations.md', 'observing.md', 'alerts.md', 'configuration.md', 'security.md', 'console.md', 'cluster.md', 'replication.md'],
  'For applications': ['views.md', 'mango.md', 'search.md', 'design-functions.md', 'parts.md', 'eventing.md', 'eventing-queries.md', 'all-fields-index.md'],
  'Beside CouchDB': ['compatibility.md', 'api-coverage.md', 'benchmarks.md'],
  'Inside': ['architecture.md', 'keyspace.md', 'oracles.md', 'releasing.md']
}
groups['More'] = pages('', ['README.md', ...Object.values(groups).flat()])
const decisions = ['adr/README.md', ...pages('adr/', ['adr/README.md'])]

const sidebar = [
  ...Object.entries(groups).filter(([, list]) => list.length).map(([text, list]) => ({ text, items: list.map(item) })),
  { text: 'Decisions', collapsed: true, items: decisions.map(item) },
  { text: 'Measurements', collapsed: true, items: pages('lab/').map(item) }
]

// The name of a heading's anchor is the one that it has on GitHub: the links of docs/ are written for both.
function slugify (heading) {
  return heading.trim().toLowerCase().replace(/[^\p{L}\p{N}\p{M}_ -]/gu, '').replace(/ /g, '-')
}

// Links to what is no page of the site, files and folders of the repository, lead there.
function asInTheRepository (md) {
  // an indented block looks like one between lines of ```
  md.core.ruler.push('indented', state => {
    for (const token of state.tokens) if (token.type === 'code_block') Object.assign(token, { type: 'fence', info: '' })
  })
  const open = md.renderer.rules.link_open ?? ((tokens, i, options, env, self) => self.renderToken(tokens, i, options))
  md.renderer.rules.link_open = (tokens, i, options, env, self) => {
    const href = tokens[i].attrGet('href')
    if (href && !/^([a-z]+:|#|\/)/.test(href)) {
      const path = posix.join('docs', posix.dirname(env.relativePath), href)
      const page = path.startsWith('docs/') && /\.md(#.*)?$/.test(path)
      tokens[i].attrSet('href', page ? href.replace(/README\.md(?=#|$)/, 'index.md') : repository + path)
    }
    return open(tokens, i, options, env, self)
  }
}

export default {
  title: 'settee',
  description: 'CouchDB in one program',
  srcDir: '../docs',
  outDir: 'dist',
  cacheDir: '.vitepress/cache',
  rewrites: { 'README.md': 'index.md', 'adr/README.md': 'adr/index.md' },
  ignoreDeadLinks: true, // check.js looks at the links and anchors of what was built
  vite: { resolve: { alias: vue } },
  markdown: {
    html: false, // what looks like an element is text, as in the terminal
    anchor: { slugify },
    config: asInTheRepository
  },
  themeConfig: {
    search: { provider: 'local' },
    sidebar,
    outline: [2, 3],
    nav: [
      { text: 'Start', link: '/start' },
      { text: 'Operations', link: '/operations' },
      { text: 'Compatibility', link: '/compatibility' },
      { text: 'Decisions', link: '/adr/' }
    ]
  }
}
