/** A real fault of what a monitor watches, and the alert for it. */
export interface Fault {
  /** `NAME HOST`, as `Prometheus.firing` has it. */
  readonly alert: string;
  /** What happens, in the words of an operator. */
  readonly what: string;
  /** Alerts that may fire with it, because the fault is theirs, too. */
  readonly also?: readonly string[];
  /** Whether nothing else of its host is measured meanwhile, so no other fault is seen there. */
  readonly hides?: boolean;
  make(): void | Promise<void>;
  /** Ends it as an operator would, or as it ends by itself. */
  end(): void | Promise<void>;
}
