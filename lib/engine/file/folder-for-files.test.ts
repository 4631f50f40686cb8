import { expect, test } from 'vitest';
import { refuseSystemFolder } from './folder-for-files.ts';

test.each(['/proc/x', '/tmp/../proc/x', '/sys', '/dev/x'])('%s is refused', (path) => {
  expect(() => refuseSystemFolder(path)).toThrow(`${path} is in /proc, /sys or /dev, which keep no files`);
});

test.each(['/tmp/x', '/dev/shm/x', '/procedures', 'proc'])('%s is not a folder of the system', (path) => {
  expect(() => refuseSystemFolder(path)).not.toThrow();
});
