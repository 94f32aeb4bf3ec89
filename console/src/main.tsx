// The console of settee: a page in the browser that shows and steers a server through its API alone.
import { render } from 'preact'
import { SignedIn } from './session'
import { Shell } from './shell'
import { Overlays } from './ui'
import './style/main.css'

render(<><SignedIn><Shell /></SignedIn><Overlays /></>, document.body)
