// Design documents and the indexes that they define.

export interface DesignDoc extends Record<string, unknown> {
  _id: string
  _rev: string
  language?: string
  views?: Record<string, { map?: unknown, reduce?: unknown, options?: unknown }>
  indexes?: Record<string, { index?: string, analyzer?: unknown }>
  nouveau?: Record<string, { index?: string, default_analyzer?: string, field_analyzers?: Record<string, string> }>
  auto?: unknown
}

/** shortName is the name of a design document without _design/. */
export const shortName = (id: string): string => id.replace(/^_design\//, '')

/** viewsOf are the paths of the views that people have written: "shop/_view/byday". Mango's indexes are no views to them. */
export function viewsOf (designs: DesignDoc[]): string[] {
  return designs.filter(one => one.language !== 'query')
    .flatMap(one => Object.keys(one.views ?? {}).filter(name => name !== 'lib').map(name => `${shortName(one._id)}/_view/${name}`))
}

/** searchesOf are the paths of indexes of full-text search: "shop/_search/byname", "shop/_nouveau/byname". */
export function searchesOf (designs: DesignDoc[]): string[] {
  return designs.flatMap(one => [
    ...Object.keys(one.indexes ?? {}).map(name => `${shortName(one._id)}/_search/${name}`),
    ...Object.keys(one.nouveau ?? {}).map(name => `${shortName(one._id)}/_nouveau/${name}`)
  ])
}
