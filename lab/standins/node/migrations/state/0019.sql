-- The indexes of the transactions of a block are 0, 1, 2 and so on, in the order that they have.
UPDATE state.receipt SET tx_index = numbered.wanted
FROM (
  SELECT tx_hash, ROW_NUMBER() OVER (PARTITION BY l2_block_num ORDER BY tx_index) - 1 AS wanted
  FROM state.receipt JOIN state.transaction ON transaction.hash = receipt.tx_hash
) numbered
WHERE numbered.tx_hash = receipt.tx_hash AND numbered.wanted <> receipt.tx_index;
