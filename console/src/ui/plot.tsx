// Plots over time. Those of one group share their axis and the line that follows the pointer.
import { useEffect, useRef } from 'preact/hooks'
import type uPlot from 'uplot'

export interface Series {
  label: string
  /** A value for each time; null where nothing is known. */
  values: (number | null)[]
  /** A colour of the palette, 1 to 6; 1 is the accent. */
  colour?: 1 | 2 | 3 | 4 | 5 | 6
  fill?: boolean
}

interface PlotProps {
  title: string
  /** Seconds since 1970, ascending. */
  times: number[]
  series: Series[]
  /** How a value is said, with its unit. */
  say: (n: number) => string
  /** Plots of one group share the pointer's line. */
  group?: string
  height?: number
}

/** Plot draws series over time. A table with the newest values stands in for it where nothing is seen. */
export function Plot ({ title, times, series, say, group = 'plots', height = 140 }: PlotProps) {
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot>(undefined)
  const data = [times, ...series.map(one => one.values)] as uPlot.AlignedData
  const newest = useRef(data)
  newest.current = data
  useEffect(() => {
    let gone = false
    const element = box.current!
    const observer = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }))
    const scheme = matchMedia('(prefers-color-scheme: dark)')
    const draw = async () => {
      const { default: Plotter } = await import('uplot')
      if (gone) return
      plot.current?.destroy()
      plot.current = new Plotter(options(element, title, series, say, group, height), newest.current, element)
    }
    void draw()
    observer.observe(element)
    const themed = () => { void draw() }
    scheme.addEventListener('change', themed)
    addEventListener('themechange', themed)
    return () => {
      gone = true
      observer.disconnect()
      scheme.removeEventListener('change', themed)
      removeEventListener('themechange', themed)
      plot.current?.destroy()
    }
  }, [title, series.length])
  useEffect(() => { plot.current?.setData(data) }, [times, series])
  const last = (values: (number | null)[]) => values.findLast(value => value !== null)
  return (
    <figure class='plot'>
      <figcaption>
        <span>{title}</span>
        <span class='legend'>
          {series.map((one, i) => {
            const value = last(one.values)
            return (
              <span key={one.label} class={`series-${one.colour ?? i + 1}`}>
                {one.label} <b>{value === undefined || value === null ? '–' : say(value)}</b>
              </span>
            )
          })}
        </span>
      </figcaption>
      <div ref={box} class='canvas' role='img' aria-label={`${title}: ${series.map(one => {
        const value = last(one.values)
        return `${one.label} ${value === undefined || value === null ? 'unknown' : say(value)}`
      }).join(', ')}`} />
    </figure>
  )
}

// clock is a time of the day, with seconds where the axis is that fine.
function clock (time: number, _: number, all: number[]): string {
  const fine = all.length > 1 && all[1]! - all[0]! < 60
  return new Date(time * 1000).toLocaleTimeString(undefined, { hour: '2-digit', minute: '2-digit', ...(fine && { second: '2-digit' }), hour12: false })
}

function options (element: HTMLElement, title: string, series: Series[], say: (n: number) => string, group: string, height: number): uPlot.Options {
  const style = getComputedStyle(element)
  const colour = (name: string) => style.getPropertyValue(name).trim()
  const font = `12px ${style.fontFamily}`
  const axis = { stroke: colour('--plot-text'), font, grid: { stroke: colour('--plot-grid'), width: 1 }, ticks: { show: false } }
  return {
    title: '',
    width: element.clientWidth,
    height,
    legend: { show: false },
    cursor: { sync: { key: group }, y: false, points: { size: 6 } },
    scales: { y: { range: (_, low, high) => [Math.min(0, low ?? 0), high > 0 ? high * 1.1 : 1] } },
    axes: [{ ...axis, size: 24, space: 80, values: (_, all) => all.map(clock) }, { ...axis, size: 64, space: 28, values: (_, all) => all.map(say) }],
    series: [{ label: title }, ...series.map((one, i) => {
      const stroke = colour(`--plot-${one.colour ?? i + 1}`)
      return { label: one.label, stroke, width: 1.5, ...(one.fill && { fill: `color-mix(in srgb, ${stroke} 13%, transparent)` }), spanGaps: false }
    })]
  }
}
