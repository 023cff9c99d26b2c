import { useEffect, useRef, useState } from 'preact/hooks'

/** The lines across a chart: round numbers from 0 to at least `highest`, four at most. */
export function roundSteps(highest: number): readonly number[] {
  const step = Math.max(1, roundUp(Math.max(highest, 1) / 4))
  const steps = Math.max(1, Math.ceil(highest / step))
  return Array.from({ length: steps + 1 }, (_each, i) => i * step)
}

/** The next of 1, 2, 5, 10, 20, 50, … */
function roundUp(number: number): number {
  const power = 10 ** Math.floor(Math.log10(number))
  const digits = number / power
  return Math.round((digits <= 1 ? 1 : digits <= 2 ? 2 : digits <= 5 ? 5 : 10) * power * 1e6) / 1e6
}

/** The present width of an element in pixels, for charts that are drawn for it. */
export function useWidth<Of extends Element>() {
  const ref = useRef<Of>(null)
  const [width, setWidth] = useState(0)
  useEffect(() => {
    if (!ref.current) return
    const observer = new ResizeObserver(([entry]) => {
      if (entry) setWidth(Math.floor(entry.contentRect.width))
    })
    observer.observe(ref.current)
    return () => observer.disconnect()
  }, [])
  return { ref, width }
}
