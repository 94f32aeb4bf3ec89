// The frame around every page: the rail, the header, the palette, and what is said when the server is away.
import { type ComponentType } from 'preact'
import { useEffect, useMemo, useState } from 'preact/hooks'
import { curl, get, hasToken, onReach, onSent, sentRecently, type Sent } from './api'
import { WithCommands, type Command } from './commands'
import { opened } from './opened'
import { pages } from './pages'
import { ChangePassword } from './password'
import { href, PlaceProvider, usePlaceHere } from './router'
import { useSession } from './session'
import { Button, Code, Dialog, Empty, Menu, Notice } from './ui'
import { useStored } from './use'

const loaded = new Map<string, ComponentType>()

export function Shell () {
  const place = usePlaceHere()
  const { user, signOut } = useSession()
  const [theme, setTheme] = useStored<'system' | 'light' | 'dark'>('theme', 'system')
  const [showsCurl, setShowsCurl] = useState(false)
  const [changes, setChanges] = useState(false)
  const [away, setAway] = useState(false)
  const [railOpen, setRailOpen] = useState(false)
  useEffect(() => onReach(reach => setAway(reach === 'away')), [])
  useEffect(() => {
    document.documentElement.dataset.theme = theme
    dispatchEvent(new Event('themechange'))
  }, [theme])
  useEffect(() => setRailOpen(false), [place])

  const mine = pages.filter(page => user.admin || !page.admin)
  const key = place.parts[0] ?? ''
  const entry = mine.find(page => page.key === key) ?? (key === '' ? mine[0] : undefined)
  const own = user.name !== null && !hasToken() ? [{ title: 'Change password', run: () => setChanges(true) }] : []
  const commands = useMemo<Command[]>(() => [
    ...mine.map(page => ({ title: page.title, hint: 'page', to: href(page.key === '' ? [] : [page.key]) })),
    { title: 'Show the last requests as curl', run: () => setShowsCurl(true) },
    { title: 'Light colours', run: () => setTheme('light') },
    { title: 'Dark colours', run: () => setTheme('dark') },
    { title: 'Colours of the system', run: () => setTheme('system') },
    ...own,
    { title: 'Sign out', run: signOut }
  ], [user])
  return (
    <PlaceProvider value={place}>
      <WithCommands always={commands} find={user.admin ? findDatabases : async typed => opened(user, typed, FOUND).map(database)}>
        <a class='skip' href='#main'>Skip to the content</a>
        <div class={railOpen ? 'shell rail-open' : 'shell'}>
          <nav class='rail' aria-label='Pages'>
            {mine.map(page => (
              <a
                key={page.key} href={href(page.key === '' ? [] : [page.key])} title={page.title}
                aria-current={page === entry ? 'page' : undefined}
              >
                <svg viewBox='0 0 16 16' width='16' height='16' aria-hidden='true'><path d={page.icon} /></svg>
                <span>{page.title}</span>
              </a>
            ))}
          </nav>
          <header class='header'>
            <button type='button' class='button plain rail-button' aria-label='Pages' aria-expanded={railOpen} onClick={() => setRailOpen(!railOpen)}>☰</button>
            <a class='brand' href={href([])}><img src='/_console/icon.svg' alt='' width='20' height='20' /> settee</a>
            <button type='button' class='search' onClick={() => dispatchEvent(new Event('opencommands'))}>
              Search or command <kbd>Ctrl K</kbd>
            </button>
            <Button kind='plain' onClick={() => setShowsCurl(true)} title='The last requests as curl'>curl</Button>
            <Menu
              label='Account and colours'
              items={[
                { title: 'Light colours', run: () => setTheme('light') },
                { title: 'Dark colours', run: () => setTheme('dark') },
                { title: 'Colours of the system', run: () => setTheme('system') },
                ...own,
                { title: 'Sign out', run: signOut }
              ]}
            >
              {user.name ?? 'everybody'}
            </Menu>
          </header>
          {away && <div class='away'><Notice kind='failed'>The server does not answer. It is asked every second, and the page goes on when it is back.</Notice></div>}
          {entry ? <Loader key={entry.key} page={entry.key} load={entry.load} /> : <Missing />}
        </div>
        {changes && <ChangePassword onClose={() => setChanges(false)} />}
        {showsCurl && <AsCurl user={user.name ?? undefined} onClose={() => setShowsCurl(false)} />}
      </WithCommands>
    </PlaceProvider>
  )
}

const FOUND = 20 // databases that the palette offers

const database = (name: string): Command => ({ title: name, hint: 'database', to: href(['databases', name]) })

// findDatabases finds databases whose names begin with what is typed. Who does not administer the server is not told names.
async function findDatabases (typed: string, signal: AbortSignal): Promise<Command[]> {
  const range = typed === '' ? {} : { start_key: typed, end_key: `${typed}\ufff0` }
  const names = await get<string[]>('/_all_dbs', { ...range, limit: FOUND }, { signal, quiet: true })
  return names.map(database)
}

function Loader ({ page, load }: { page: string, load: () => Promise<{ default: ComponentType }> }) {
  const [, set] = useState(0)
  const [error, setError] = useState<Error>()
  useEffect(() => {
    load().then(({ default: component }) => {
      loaded.set(page, component)
      set(n => n + 1)
    }, setError)
  }, [])
  const Component = loaded.get(page)
  if (Component) return <Component />
  return <main class='page' id='main' aria-busy={!error}>{error && <Notice kind='failed'>The page could not be loaded: {error.message}</Notice>}</main>
}

function Missing () {
  return <main class='page' id='main'><Empty title='There is no such page'>Choose one at the left, or press Ctrl K.</Empty></main>
}

function AsCurl ({ user, onClose }: { user: string | undefined, onClose: () => void }) {
  const [sent, set] = useState<readonly Sent[]>(sentRecently)
  useEffect(() => onSent(() => set(sentRecently())), [])
  return (
    <Dialog title='The last requests as curl' wide onClose={onClose} actions={<Button onClick={onClose}>Close</Button>}>
      {sent.map((one, i) => <Code key={i}>{curl(one, user)}</Code>)}
    </Dialog>
  )
}
