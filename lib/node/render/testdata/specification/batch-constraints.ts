import type { Row } from './row.ts';

/** Spec part 2, "Batch constraints (section State.Batch.Constraints)". */
export const batchConstraints: readonly Row[] = [
  ['State.Batch.Constraints', 'MaxTxsPerBatch', 'integer', 300],
  ['State.Batch.Constraints', 'MaxBatchBytesSize', 'integer', 120000],
  ['State.Batch.Constraints', 'MaxCumulativeGasUsed', 'integer', 1125899906842624],
  ['State.Batch.Constraints', 'MaxKeccakHashes', 'integer', 2145],
  ['State.Batch.Constraints', 'MaxPoseidonHashes', 'integer', 252357],
  ['State.Batch.Constraints', 'MaxPoseidonPaddings', 'integer', 135191],
  ['State.Batch.Constraints', 'MaxMemAligns', 'integer', 236585],
  ['State.Batch.Constraints', 'MaxArithmetics', 'integer', 236585],
  ['State.Batch.Constraints', 'MaxBinaries', 'integer', 473170],
  ['State.Batch.Constraints', 'MaxSteps', 'integer', 7570538],
  ['State.Batch.Constraints', 'MaxSHA256Hashes', 'integer', 1596],
];
