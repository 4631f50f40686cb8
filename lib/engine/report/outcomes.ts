/**
 * The presentation of each outcome: a letter beside its colour, and its meaning in the legend.
 * Worst first.
 */
export const outcomes = {
  failed: { letter: 'F', word: 'failed', means: 'an error, or a requirement that is not met' },
  unreachable: { letter: 'X', word: 'unreachable', means: 'no connection' },
  unfinished: { letter: '…', word: 'unfinished', means: 'it started, and its end is not recorded' },
  warning: { letter: 'W', word: 'warning', means: 'a recommendation that is not met' },
  unknown: { letter: '?', word: 'unknown', means: 'cannot be checked yet' },
  pending: { letter: 'P', word: 'pending', means: 'would be changed' },
  changed: { letter: 'C', word: 'changed', means: 'was not as it should be, and now is' },
  skipped: {
    letter: 'S',
    word: 'skipped',
    means: 'left out by an answer (--step), or depends on such a task',
  },
  other: { letter: '*', word: 'other', means: 'an outcome that this version does not know' },
  unreached: { letter: '–', word: 'not reached', means: 'the host stopped before it' },
  ok: { letter: '·', word: 'ok', means: 'is as it should be' },
} as const;

export type ShownOutcome = keyof typeof outcomes;
