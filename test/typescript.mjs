// Lets a script of the tests or docs import TypeScript files: later versions of Node do so
// themselves, for the others tsx does. A .ts file can be imported only after this module, and so
// only dynamically.
const native = /** @type {{ typescript?: unknown }} */ (process.features).typescript;
if (!native) (await import('tsx/esm/api')).register();
