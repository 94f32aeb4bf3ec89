// The pages of the console, in the order of the rail. Each loads when it is first opened.
import type { ComponentType } from 'preact'

export interface PageEntry {
  /** The first part of its path; "" is where the console opens. */
  key: string
  title: string
  /** A sign of the rail: one path in a box of 16 by 16. */
  icon: string
  /** Shown to administrators of the server only, since the API answers nobody else. */
  admin?: boolean
  load: () => Promise<{ default: ComponentType }>
}

export const pages: PageEntry[] = [
  { key: '', title: 'Overview', admin: true, load: () => import('./overview'), icon: 'M1 9h3l2-6 3 11 2-7 1 2h3' },
  {
    key: 'databases', title: 'Databases', load: () => import('./databases'),
    icon: 'M2 4c0-3 12-3 12 0v8c0 3-12 3-12 0zM2 4c0 3 12 3 12 0M2 8c0 3 12 3 12 0'
  },
  { key: 'queries', title: 'Queries', load: () => import('./queries'), icon: 'M7 2a5 5 0 1 0 .1 0zM11 11l4 4' },
  { key: 'designs', title: 'Designs & indexes', load: () => import('./designs'), icon: 'M2 3h12M2 8h8M2 13h5M12 8v6M9 11h6' },
  { key: 'replications', title: 'Replications', load: () => import('./replications'), icon: 'M2 6h11l-3-3M14 10H3l3 3' },
  { key: 'functions', title: 'Event functions', load: () => import('./functions'), icon: 'M9 1 3 9h4l-1 6 6-8H8z' },
  {
    key: 'users', title: 'Users and rights', admin: true, load: () => import('./users'),
    icon: 'M8 2a3 3 0 1 0 .1 0zM2 15c0-8 12-8 12 0z'
  },
  { key: 'settings', title: 'Settings', admin: true, load: () => import('./settings'), icon: 'M1 4h8M13 4h2M11 2v4M1 12h2M7 12h8M5 10v4' },
  { key: 'backups', title: 'Backups', admin: true, load: () => import('./backups'), icon: 'M8 1v9M5 7l3 3 3-3M2 11v3h12v-3' }
]
