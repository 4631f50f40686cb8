-- A fork outlives the block of layer 1 that announced it.
ALTER TABLE IF EXISTS state.fork_id DROP CONSTRAINT IF EXISTS fork_id_block_num_fkey;
