/**
 * How one outcome is shown: `sign` is what stands for it in the data, `letter` what a reader sees beside its colour.
 *
 * @typedef {{ sign: string, letter: string, word: string, style: string, means: string }} Shown
 */

/** @type {readonly Shown[]} worst first */
export const outcomes = [
  { sign: 'f', letter: 'F', word: 'failed', style: 'failed', means: 'failed' },
  { sign: '~', letter: '…', word: 'under way', style: 'under-way', means: 'begun, and its end is not recorded' },
  { sign: 'w', letter: 'W', word: 'warning', style: 'warning', means: 'something that should hold does not' },
  { sign: 'u', letter: '?', word: 'unknown', style: 'unknown', means: 'cannot be told yet' },
  { sign: 'p', letter: 'P', word: 'pending', style: 'pending', means: 'would be changed' },
  { sign: 'c', letter: 'C', word: 'changed', style: 'changed', means: 'was not as it should be, and now is' },
  { sign: '*', letter: '*', word: 'other', style: 'unknown', means: 'an outcome that this report does not know' },
  { sign: '-', letter: '–', word: 'not reached', style: 'not-reached', means: 'the host stopped before it' },
  { sign: 'o', letter: '·', word: 'ok', style: 'ok', means: 'as it should be' },
];

const nothing = { sign: ' ', letter: '', word: 'nothing told', style: 'none', means: 'nothing was told of it' };

/**
 * @param {string | undefined} sign
 * @returns {Shown}
 */
export function shownAs(sign) {
  return outcomes.find((outcome) => outcome.sign === sign) ?? nothing;
}

/**
 * `0.4 s`, `12 s`, `3 min 20 s`, `2 h 05 min`: as the terminal has it.
 *
 * @param {number} value
 */
export function duration(value) {
  if (value < 10) return `${value.toFixed(1)} s`;
  if (value < 120) return `${Math.round(value)} s`;
  const whole = Math.round(value);
  if (whole < 7200) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, '0')} s`;
  return `${Math.floor(whole / 3600)} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, '0')} min`;
}

/**
 * `16:42:35`, in UTC as the servers' logs have it.
 *
 * @param {number} at milliseconds since 1970
 */
export function clock(at) {
  return new Date(at).toISOString().slice(11, 19);
}

/** @param {number} at milliseconds since 1970 */
export function day(at) {
  return new Date(at).toISOString().slice(0, 10);
}

/**
 * `1 host`, `3 hosts`.
 *
 * @param {number} count
 * @param {string} one
 */
export function counted(count, one, many = `${one}s`) {
  return `${count} ${count === 1 ? one : many}`;
}
