import type { Progress } from '../host/host.ts';

/** `0.4 s`, `12 s`, `3 min 20 s`, `2 h 05 min`. */
export function seconds(value: number): string {
  if (value < 10) return `${value.toFixed(1)} s`;
  if (value < 120) return `${Math.round(value)} s`;
  const whole = Math.round(value);
  if (whole < 7200) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`;
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, '0')} min`;
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

/** `restoring 1.2 GiB of 6.0 GiB (20%)`, and where the rate is known, `12 MiB/s, 6 min 50 s left`. */
export function progressText(progress: Progress, ratePerSecond: number | undefined): string {
  const { what, done, total, unit } = progress;
  if (done === undefined) return what;
  const amount = unit === 'bytes' ? bytes : (value: number) => `${value}${unit ? ` ${unit}` : ''}`;
  const share = total ? ` of ${amount(total)} (${Math.min(100, Math.floor((done / total) * 100))}%)` : '';
  const rate = ratePerSecond && ratePerSecond > 0 ? `, ${amount(Math.round(ratePerSecond))}/s` : '';
  const left = total && ratePerSecond && ratePerSecond > 0 ? `, ${seconds((total - done) / ratePerSecond)} left` : '';
  return `${what} ${amount(done)}${share}${rate}${left}`;
}
