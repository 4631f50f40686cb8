/** An error that an operator can fix: the cause, and what to do. Shown without a stack trace. */
export class LabError extends Error {
  /**
   * @param {string} message the cause first
   * @param {string} [hint] what to do
   */
  constructor(message, hint) {
    super(message);
    this.name = 'LabError';
    this.hint = hint;
  }
}
