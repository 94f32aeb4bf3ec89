// The parts that pages are made of.
export { Button, Field, Notice, State, Empty, Failure, Tabs, Bar, Code, type Tone } from './parts'
export { Table, type Column } from './table'
export { Editor, type EditorProps, type Mark } from './editor'
export { Dialog, confirm, Overlays } from './dialog'
export { toast } from './toast'
export { Plot, type Series } from './plot'
export { Split, Page } from './layout'
export { Menu, type MenuItem } from './menu'
