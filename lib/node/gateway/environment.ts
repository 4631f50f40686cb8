import { gatewayFolder } from './paths.ts';

/**
 * The environment of HAProxy. Without it the C library gives each of HAProxy's large buffers back
 * to the kernel, and gets it again for the next request: a third of the processor time of a request
 * (npm run bench:gateway). A reload keeps the environment of the start. Bytes, see mallopt(3).
 */
export const haproxyEnvironment = {
  CONFIG: `${gatewayFolder}/haproxy.cfg`,
  MALLOC_MMAP_THRESHOLD_: String(2 ** 30),
  MALLOC_TRIM_THRESHOLD_: String(2 ** 28),
  MALLOC_TOP_PAD_: String(2 ** 26),
};
