/** How a host of the measurement with many hosts behaves: well, or with one of ten faults. */
export const ways = /** @type {const} */ ([
  'well',
  'refuses connections',
  'accepts and is silent',
  'has another host key',
  'refuses the key',
  'refuses requests',
  'ends the connection at the first request',
  'ends the connection at the second request',
  'never answers',
  'ends requests without an exit code',
  'answers half',
]);
