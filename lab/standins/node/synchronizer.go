package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lib/pq"
)

// maxBlocksPerRequest limits a JSON-RPC batch to a size that any server accepts.
const maxBlocksPerRequest = 50

// synchronizer copies the trusted sequencer's blocks into the state database. Two of them on one database disturb each
// other, like the real ones.
type synchronizer struct {
	*node
	trusted *rpcClient
}

func newSynchronizer(n *node) *synchronizer {
	return &synchronizer{n, newRPCClient(n.config.Synchronizer.TrustedSequencerURL)}
}

// errDiverged is the real program's text for a batch whose blocks are other ones than the trusted sequencer's. Two spaces are its own.
var errDiverged = errors.New("when closing the batch, the batch is already close, but  the data on state doesnt match the expected")

// run follows the trusted sequencer for ever. Until the first round without an error there is no pause between two rounds: where the
// sequencer is away at the start, it spins.
func (s *synchronizer) run() {
	log.info("trustedSequencerURL %s", s.config.Synchronizer.TrustedSequencerURL)
	started := time.Now()
	log.info("Sync started")
	if err := s.start(); err != nil {
		log.fatal(err)
	}
	s.metrics.observe("synchronizer_initialization_time", started)
	for wait := time.Duration(0); ; time.Sleep(wait) {
		round := time.Now()
		if s.round() {
			wait = s.config.Synchronizer.SyncInterval.Duration
			s.metrics.observe("synchronizer_full_L1_sync_time", round)
			log.info("L1 state fully synchronized")
		}
	}
}

// round reads layer 1 and copies what the trusted sequencer has. Failures of both are warnings, and the next round tries again.
func (s *synchronizer) round() bool {
	sequenced, err := s.layer1.lastSequencedBatch()
	if err != nil {
		log.warn("error getting latest sequenced batch in the rollup. Error: %v", err)
		return false
	}
	synced, err := s.lastBatch()
	s.metrics.setLatestSyncedBatch(synced)
	if err != nil {
		log.warn("error getting latest batch synced in the db. Error: %v", err)
		return false
	}
	verified, err := s.layer1.lastVerifiedBatch()
	if err != nil {
		log.warn("error getting last verified batch in the rollup. Error: %v", err)
		return false
	}
	log.info("latestSequencedBatchNumber: %d, latestSyncedBatch: %d, lastVerifiedBatchNumber: %d", sequenced, synced, verified)
	log.info("Syncing trusted state")
	started := time.Now()
	err = s.syncTrusted(synced)
	s.metrics.observe("synchronizer_full_trusted_sync_time", started)
	if err != nil {
		log.warn("error syncing trusted state. Error: %v", err)
	}
	return err == nil
}

func (s *synchronizer) lastBatch() (batch uint64, err error) {
	err = s.state.QueryRow(`select coalesce(max(batch_num), 0) from state.batch`).Scan(&batch)
	return batch, err
}

func (s *synchronizer) syncTrusted(synced uint64) error {
	log.info("syncTrustedState: Getting trusted state info")
	started := time.Now()
	var newest quantity
	err := s.trusted.askOne("zkevm_batchNumber", &newest)
	s.metrics.observe("synchronizer_get_trusted_batchNumber_time", started)
	if err != nil {
		log.warn("syncTrustedState: error getting last batchNumber from Trusted Node. Error: %v", err)
		return err
	}
	log.info("syncTrustedState: latestSyncedBatch:%d syncTrustedState:%d (max Batch on network: %d)", synced, newest, newest)
	for more := true; more; {
		started := time.Now()
		more, err = s.step()
		s.metrics.observe("synchronizer_process_trusted_batch_time", started)
		if err != nil {
			log.error("syncTrustedState: batch[%d/%d] error processing trusted batch %d: %v", synced, newest, synced, err)
			return err
		}
	}
	log.info("syncTrustedState: Trusted state fully synchronized from %d to %d", synced, newest)
	return nil
}

// step copies the next blocks, and returns whether there are more.
func (s *synchronizer) step() (bool, error) {
	last, hash, batch, err := s.lastBlock()
	if errors.Is(err, sql.ErrNoRows) {
		return true, s.writeGenesis()
	}
	if err != nil {
		return false, err
	}
	started := time.Now()
	var head quantity
	var same struct {
		Blocks []string `json:"blocks"`
	}
	err = s.trusted.ask(
		question{"eth_blockNumber", nil, &head},
		question{"zkevm_getBatchByNumber", []any{quantity(batch), false}, &same},
	)
	s.metrics.observe("synchronizer_get_trusted_batchInfo_time", started)
	if err != nil {
		return false, err
	}
	if uint64(head) < last {
		// The lab's sequencer was created again. It has the same blocks, once it gets the number of the last one.
		var done bool
		return false, s.trusted.ask(question{"standin_goOnFrom", []any{quantity(last)}, &done})
	}
	// Block 0 of the genesis file is accepted, right or wrong.
	if last > 0 && !contains(same.Blocks, hash) {
		return false, errDiverged
	}
	if uint64(head) == last {
		return false, nil
	}
	if err := checkProver(s.config.Executor.URI); err != nil {
		return false, fmt.Errorf("error executing the batch: executor: %w", err)
	}
	count := uint64(head) - last
	if chunk := s.config.Synchronizer.SyncChunkSize; count > chunk {
		count = chunk
	}
	blocks, err := s.fetch(last+1, count)
	if err != nil {
		return false, err
	}
	parent := hash
	for _, b := range blocks {
		if last > 0 && b.ParentHash != parent {
			return false, errDiverged
		}
		parent = b.Hash
	}
	if err := s.write(blocks); err != nil {
		return false, err
	}
	newest := blocks[len(blocks)-1]
	log.info("synced blocks %d to %d, batch %d", last+1, newest.Number, newest.batch)
	return uint64(newest.Number) < uint64(head), nil
}

func contains(texts []string, wanted string) bool {
	for _, text := range texts {
		if text == wanted {
			return true
		}
	}
	return false
}

func (s *synchronizer) lastBlock() (number uint64, hash string, batch uint64, err error) {
	err = s.state.QueryRow(`select block_num, block_hash, batch_num from state.l2block order by block_num desc limit 1`).
		Scan(&number, &hash, &batch)
	return number, hash, batch, err
}

// block is a block in the trusted sequencer's format.
type block struct {
	Number       quantity      `json:"number"`
	Hash         string        `json:"hash"`
	ParentHash   string        `json:"parentHash"`
	StateRoot    string        `json:"stateRoot"`
	Timestamp    quantity      `json:"timestamp"`
	Transactions []transaction `json:"transactions"`
	header       []byte
	receipts     []receipt
	batch        uint64
}

type transaction struct {
	Hash  string `json:"hash"`
	Input string `json:"input"`
	whole json.RawMessage
}

// UnmarshalJSON keeps the transaction unchanged; a block without its transactions has only their hashes.
func (t *transaction) UnmarshalJSON(data []byte) error {
	t.whole = append(json.RawMessage(nil), data...)
	if json.Unmarshal(data, &t.Hash) == nil {
		return nil
	}
	type plain transaction
	p := (*plain)(t)
	return json.Unmarshal(data, p)
}

type receipt struct {
	TransactionHash   string   `json:"transactionHash"`
	TransactionIndex  quantity `json:"transactionIndex"`
	Type              quantity `json:"type"`
	Status            quantity `json:"status"`
	CumulativeGasUsed quantity `json:"cumulativeGasUsed"`
	GasUsed           quantity `json:"gasUsed"`
	EffectiveGasPrice quantity `json:"effectiveGasPrice"`
	ContractAddress   *string  `json:"contractAddress"`
	Logs              []struct {
		Address  string   `json:"address"`
		Data     string   `json:"data"`
		Topics   []string `json:"topics"`
		LogIndex quantity `json:"logIndex"`
	} `json:"logs"`
}

// fetch requests blocks, their receipts and their batches.
func (s *synchronizer) fetch(first, count uint64) ([]block, error) {
	var blocks []block
	for count > 0 {
		part := count
		if part > maxBlocksPerRequest {
			part = maxBlocksPerRequest
		}
		raw := make([]json.RawMessage, part)
		receipts := make([][]receipt, part)
		batches := make([]quantity, part)
		var questions []question
		for i := uint64(0); i < part; i++ {
			number := quantity(first + i)
			questions = append(questions,
				question{"eth_getBlockByNumber", []any{number, true}, &raw[i]},
				question{"eth_getBlockReceipts", []any{number}, &receipts[i]},
				question{"zkevm_batchNumberByBlockNumber", []any{number}, &batches[i]},
			)
		}
		if err := s.trusted.ask(questions...); err != nil {
			return nil, err
		}
		for i := range raw {
			b := block{receipts: receipts[i], batch: uint64(batches[i])}
			if err := json.Unmarshal(raw[i], &b); err != nil {
				return nil, err
			}
			if b.Hash == "" {
				return nil, fmt.Errorf("the trusted sequencer has no block %d", first+uint64(i))
			}
			var err error
			if b.header, err = headerOf(raw[i]); err != nil {
				return nil, err
			}
			blocks = append(blocks, b)
		}
		first += part
		count -= part
	}
	return blocks, nil
}

// headerOf returns the header fields of a block.
func headerOf(raw []byte) ([]byte, error) {
	var fields map[string]json.RawMessage
	if err := json.Unmarshal(raw, &fields); err != nil {
		return nil, err
	}
	for _, name := range []string{"transactions", "uncles", "size", "totalDifficulty"} {
		delete(fields, name)
	}
	return json.Marshal(fields)
}

// writeGenesis writes block 0 from the genesis file, whatever it contains.
func (s *synchronizer) writeGenesis() error {
	log.info("the state database is empty: starting from the genesis file, %d accounts", len(s.genesis.Genesis))
	var trusted block
	var raw json.RawMessage
	if err := s.trusted.ask(question{"eth_getBlockByNumber", []any{quantity(0), true}, &raw}); err != nil {
		return err
	}
	if err := json.Unmarshal(raw, &trusted); err != nil {
		return err
	}
	header, err := headerOf(raw)
	if err != nil {
		return err
	}
	if trusted.StateRoot != s.genesis.Root {
		trusted.StateRoot = s.genesis.Root
		trusted.Hash = fakeHash("genesis " + s.genesis.Root)
		header, err = json.Marshal(map[string]any{"number": quantity(0), "hash": trusted.Hash, "stateRoot": s.genesis.Root, "timestamp": trusted.Timestamp})
		if err != nil {
			return err
		}
	}
	trusted.header = header
	return s.write([]block{trusted})
}

// write inserts blocks into the state database, all of them or none.
func (s *synchronizer) write(blocks []block) error {
	tx, err := s.state.Begin()
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }()
	for _, b := range blocks {
		_, err := tx.Exec(`insert into state.batch (batch_num, state_root, timestamp) values ($1, $2, $3)
			on conflict (batch_num) do update set state_root = excluded.state_root`, b.batch, b.StateRoot, b.time())
		if err != nil {
			return err
		}
	}
	if err := copyRows(tx, "l2block", []string{"block_num", "block_hash", "header", "uncles", "parent_hash", "state_root", "received_at", "created_at", "batch_num"}, blockRows(blocks)); err != nil {
		return err
	}
	if err := copyRows(tx, "transaction", []string{"hash", "encoded", "decoded", "l2_block_num", "effective_percentage"}, transactionRows(blocks)); err != nil {
		return err
	}
	if err := copyRows(tx, "receipt", []string{"tx_hash", "type", "status", "cumulative_gas_used", "gas_used", "block_num", "tx_index", "contract_address"}, receiptRows(blocks)); err != nil {
		return err
	}
	if err := copyRows(tx, "log", []string{"tx_hash", "log_index", "address", "data", "topic0", "topic1", "topic2", "topic3"}, logRows(blocks)); err != nil {
		return err
	}
	return tx.Commit()
}

func (b block) time() time.Time { return time.Unix(int64(b.Timestamp), 0).UTC() }

func blockRows(blocks []block) (rows [][]any) {
	now := time.Now().UTC()
	for _, b := range blocks {
		rows = append(rows, []any{int64(b.Number), b.Hash, string(b.header), "[]", b.ParentHash, b.StateRoot, b.time(), now, int64(b.batch)})
	}
	return rows
}

func transactionRows(blocks []block) (rows [][]any) {
	for _, b := range blocks {
		for _, t := range b.Transactions {
			rows = append(rows, []any{t.Hash, t.Input, string(t.whole), int64(b.Number), 255})
		}
	}
	return rows
}

func receiptRows(blocks []block) (rows [][]any) {
	for _, b := range blocks {
		for _, r := range b.receipts {
			rows = append(rows, []any{r.TransactionHash, int64(r.Type), int64(r.Status), int64(r.CumulativeGasUsed), int64(r.GasUsed), int64(b.Number), int64(r.TransactionIndex), r.ContractAddress})
		}
	}
	return rows
}

func logRows(blocks []block) (rows [][]any) {
	for _, b := range blocks {
		for _, r := range b.receipts {
			for _, l := range r.Logs {
				row := []any{r.TransactionHash, int64(l.LogIndex), l.Address, l.Data, nil, nil, nil, nil}
				for i, topic := range l.Topics {
					row[4+i] = topic
				}
				rows = append(rows, row)
			}
		}
	}
	return rows
}

func copyRows(tx *sql.Tx, table string, columns []string, rows [][]any) error {
	statement, err := tx.Prepare(pq.CopyInSchema("state", table, columns...))
	if err != nil {
		return err
	}
	for _, row := range rows {
		if _, err := statement.Exec(row...); err != nil {
			return err
		}
	}
	if _, err := statement.Exec(); err != nil {
		return err
	}
	return statement.Close()
}
