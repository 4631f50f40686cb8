/** What random faults are drawn from: the same seed draws the same faults. By FAULTS_SEED, or always the same. */
export const seed = Number(process.env.FAULTS_SEED ?? 20240501);
