import type { Progress } from '../host/host.ts';

/** `0.4 s`, `12 s`, `3 min 20 s`, `2 h 05 min`. */
export function seconds(value: number): string {
  if (value < 10) return `${value.toFixed(1)} s`;
  if (value < 120) return `${Math.round(value)} s`;
  const whole = Math.round(value);
  if (whole < 7200) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`;
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, '0')} min`;
}

/** `0:07`, `3:20`, `12:05:00`, for narrow columns. */
export function clock(value: number): string {
  const whole = Math.max(0, Math.floor(value));
  const two = (number: number) => String(number).padStart(2, '0');
  const minutes = Math.floor(whole / 60);
  const hours = Math.floor(minutes / 60);
  return hours > 0 ? `${hours}:${two(minutes % 60)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

/**
 * `[######......]`.
 *
 * @param share from 0 to 1
 * @param width in columns, with the brackets
 */
export function bar(share: number, width: number): string {
  const inside = width - 2;
  const full = Math.floor(Math.min(1, Math.max(0, share)) * inside);
  return `[${'#'.repeat(full)}${'.'.repeat(inside - full)}]`;
}

/** As `seconds`, without tenths, for an estimate. */
function wholeSeconds(value: number): string {
  return value < 10 ? `${Math.ceil(value)} s` : seconds(value);
}

/** Binary units, as in `ls -h`: `1.4 GiB`. */
export function bytes(value: number): string {
  const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];
  let size = value;
  let at = 0;
  while (size >= 1024 && at < units.length - 1) {
    size /= 1024;
    at += 1;
  }
  return `${at === 0 ? size : size.toFixed(1)} ${units[at]}`;
}

/** The progress of measurable work, as text. */
export interface Measures {
  /** `1.2 GiB of 6.0 GiB`. */
  readonly amount: string;
  /** `20%`. */
  readonly share: string | undefined;
  /** `12.0 MiB/s`. */
  readonly rate: string | undefined;
  /** `6 min 50 s left`. */
  readonly left: string | undefined;
}

/** The rate of work and the time left, where known. */
export interface Pace {
  readonly perSecond: number | undefined;
  readonly secondsLeft: number | undefined;
}

const noPace: Pace = { perSecond: undefined, secondsLeft: undefined };

/** Writes a number with its unit. */
function amountIn(unit: Progress['unit']): (number: number) => string {
  if (unit === 'bytes') return bytes;
  if (unit === 'seconds') return seconds;
  return (number) => `${number}${unit ? ` ${unit}` : ''}`;
}

/**
 * @returns undefined for work that has no measure
 */
export function measures(
  { done, total, unit }: Progress,
  { perSecond, secondsLeft }: Pace,
): Measures | undefined {
  if (done === undefined) return undefined;
  const amount = amountIn(unit);
  const whole = `${amount(done)}${total ? ` of ${amount(total)}` : ''}`;
  // A time limit is not work that progresses.
  if (unit === 'seconds') return { amount: whole, share: undefined, rate: undefined, left: undefined };
  return {
    amount: whole,
    share: total ? `${Math.min(100, Math.floor((done / total) * 100))}%` : undefined,
    rate: perSecond === undefined ? undefined : `${amount(Math.round(perSecond))}/s`,
    left: secondsLeft === undefined ? undefined : `${wholeSeconds(secondsLeft)} left`,
  };
}

/** `restoring 1.2 GiB of 6.0 GiB (20%), 12.0 MiB/s, 6 min 50 s left`, as far as known. */
export function progressText(progress: Progress, pace: Pace = noPace): string {
  const known = measures(progress, pace);
  if (!known) return progress.what;
  const { amount, share, rate, left } = known;
  const first = `${progress.what} ${amount}${share ? ` (${share})` : ''}`;
  return [first, rate, left].filter((part) => part !== undefined).join(', ');
}
