ALTER TABLE pool.transaction ADD COLUMN reserved_zkcounters JSONB DEFAULT '{}';
UPDATE pool.transaction SET reserved_zkcounters = jsonb_build_object(
  'GasUsed', cumulative_gas_used, 'KeccakHashes', used_keccak_hashes, 'PoseidonHashes', used_poseidon_hashes,
  'PoseidonPaddings', used_poseidon_paddings, 'MemAligns', used_mem_aligns, 'Arithmetics', used_arithmetics,
  'Binaries', used_binaries, 'Steps', used_steps, 'Sha256Hashes_V2', used_sha256_hashes
);
