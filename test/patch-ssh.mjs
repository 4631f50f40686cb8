import events from 'node:events';

/**
 * Changes the class `Client` of ssh2 before the program makes its first one. The program has a
 * copy of ssh2 in its compiled code, so an import of the package is another class.
 *
 * @param {(prototype: any) => void} change gets the prototype of `Client`, once
 */
export function patchSsh(change) {
  /** @type {any} */
  const emitter = events.EventEmitter;
  const { init } = emitter;
  // Every emitter is made by it.
  emitter.init = /** @this {object} */ function (/** @type {unknown[]} */ ...options) {
    const prototype = Object.getPrototypeOf(this);
    if (
      typeof prototype.exec === 'function' &&
      typeof prototype.openssh_forwardInStreamLocal === 'function'
    ) {
      emitter.init = init;
      change(prototype);
    }
    return init.apply(this, options);
  };
}
