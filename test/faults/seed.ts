/** What random faults are drawn from: the same seed draws the same faults. By FAULTS_SEED, or always the same. */
export const seed = Number(process.env.FAULTS_SEED ?? 20240501);

/** Whether each fault is tried in every form (npm run faults), and not in one of each kind (npm test). */
export const inEveryForm = process.env.FAULTS === 'all';
