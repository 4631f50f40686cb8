import type { Progress } from '../host/host.ts';

/** `0.4 s`, `12 s`, `3 min 20 s`, `2 h 05 min`. */
export function seconds(value: number): string {
  if (value < 10) return `${value.toFixed(1)} s`;
  if (value < 120) return `${Math.round(value)} s`;
  const whole = Math.round(value);
  if (whole < 7200) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`;
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, '0')} min`;
}

/** `0:07`, `3:20`, `12:05:00`: for a place where every column counts. */
export function clock(value: number): string {
  const whole = Math.max(0, Math.floor(value));
  const two = (number: number) => String(number).padStart(2, '0');
  const minutes = Math.floor(whole / 60);
  const hours = Math.floor(minutes / 60);
  return hours > 0 ? `${hours}:${two(minutes % 60)}:${two(whole % 60)}` : `${minutes}:${two(whole % 60)}`;
}

/** `[######......]`, so many columns wide, brackets and all. @param share from 0 to 1 */
export function bar(share: number, width: number): string {
  const inside = width - 2;
  const full = Math.floor(Math.min(1, Math.max(0, share)) * inside);
  return `[${'#'.repeat(full)}${'.'.repeat(inside - full)}]`;
}

/** As `seconds`, without the tenths, which mean nothing where the future is told. */
function wholeSeconds(value: number): string {
  return value < 10 ? `${Math.ceil(value)} s` : seconds(value);
}

/** Binary units, as disks and `ls -h` have them: `1.4 GiB`. */
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

/** What is known of work that can be measured, in words. */
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

/** How fast work goes, and how long it still takes, as far as that can be told. */
export interface Pace {
  readonly perSecond: number | undefined;
  readonly secondsLeft: number | undefined;
}

const noPace: Pace = { perSecond: undefined, secondsLeft: undefined };

/** @returns undefined for work that cannot be measured */
export function measures({ done, total, unit }: Progress, { perSecond, secondsLeft }: Pace): Measures | undefined {
  if (done === undefined) return undefined;
  const amount =
    unit === 'bytes' ? bytes : unit === 'seconds' ? seconds : (n: number) => `${n}${unit ? ` ${unit}` : ''}`;
  const whole = `${amount(done)}${total ? ` of ${amount(total)}` : ''}`;
  // Of time only so much may pass: that is no work that goes on.
  if (unit === 'seconds') return { amount: whole, share: undefined, rate: undefined, left: undefined };
  return {
    amount: whole,
    share: total ? `${Math.min(100, Math.floor((done / total) * 100))}%` : undefined,
    rate: perSecond === undefined ? undefined : `${amount(Math.round(perSecond))}/s`,
    left: secondsLeft === undefined ? undefined : `${wholeSeconds(secondsLeft)} left`,
  };
}

/** `restoring 1.2 GiB of 6.0 GiB (20%)`, and where the pace is known, `12.0 MiB/s, 6 min 50 s left`. */
export function progressText(progress: Progress, pace: Pace = noPace): string {
  const known = measures(progress, pace);
  if (!known) return progress.what;
  const { amount, share, rate, left } = known;
  const first = `${progress.what} ${amount}${share ? ` (${share})` : ''}`;
  return [first, rate, left].filter((part) => part !== undefined).join(', ');
}
