import { expect, test } from 'vitest';
import { meaningOfExitCode } from './exit-code.ts';

test.each([
  [125, 'Docker could not start it'],
  [126, 'its command cannot be run: no permission, or of another architecture'],
  [127, 'its command is not in the image'],
  [132, 'illegal instruction: the processor lacks what the program was built for, such as avx2, bmi2 or adx'],
  [134, 'the program aborted itself, as C++ does after an error that nothing handles'],
  [136, 'the program divided by zero, or a like fault'],
  [137, 'killed, most often because memory ran out'],
  [139, 'segmentation fault: the program read memory that is not its own'],
  [143, 'ended by SIGTERM, as docker stop and a shutdown send it'],
])('%d means: %s', (code, meaning) => {
  expect(meaningOfExitCode(code)).toBe(meaning);
});

test.each([0, 1, 2, 255])('%d is a code of the program itself', (code) => {
  expect(meaningOfExitCode(code)).toBeUndefined();
});
