package main

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"time"
)

const (
	// chainID is the id of the layer-2 chain, and layer1ID that of layer 1, which the genesis files name.
	chainID  = 686868
	layer1ID = 55555
	// genesisRoot is the root in both genesis files.
	genesisRoot = "0x5b9d0a6f2f1f6f3c6f7d9c0a5f1f4f0a3d9f6f2b1c8e7d6a5f4e3d2c1b0a9f8e"
	// snapshotBlock is the last block in the snapshots.
	snapshotBlock = 4000
	// lead is the number of blocks that the sequencer is ahead of the snapshot when it starts for the first time.
	lead           = 20
	blockTime      = 2 * time.Second
	blocksPerBatch = 10
	gasLimit       = 30000000
	gasPrice       = 6000000
	// margin is the time in seconds between a snapshot's last block and the creation of the snapshot, so that the following
	// blocks can be later than it without being in the future.
	margin = 120
)

// chain is a layer-2 chain in which every block is a function of its number and of the few values here.
type chain struct {
	// SnapshotTime is the time of the last block in the snapshots, in Unix seconds.
	SnapshotTime int64 `json:"snapshot_time"`
	// Started is the first start of the sequencer, in Unix seconds; 0 while the snapshots are made.
	Started int64 `json:"started"`
	// ForkedFrom is the first block that a fork has changed; 0 for none.
	ForkedFrom uint64 `json:"forked_from"`
}

// makeChain makes a chain that starts now.
func makeChain(file string, now time.Time) error {
	return chain{SnapshotTime: now.Unix() - margin}.save(file)
}

func loadChain(file string) (chain, error) {
	var c chain
	content, err := os.ReadFile(file)
	if err != nil {
		return c, err
	}
	return c, json.Unmarshal(content, &c)
}

func (c chain) save(file string) error {
	content, err := json.Marshal(c)
	if err != nil {
		return err
	}
	return os.WriteFile(file, content, 0o644)
}

// head is the newest block's number.
func (c chain) head(now time.Time) uint64 {
	return snapshotBlock + lead + uint64(now.Unix()-c.Started)/uint64(blockTime/time.Second)
}

// goOnFrom makes a block the head, as if the sequencer had started earlier.
func (c *chain) goOnFrom(number uint64, now time.Time) {
	c.Started = now.Unix() - int64(blockTime/time.Second)*int64(number-snapshotBlock-lead)
}

// timeOf is a block's time: the snapshot's blocks end at its own time, and the later ones lead up to the sequencer's start.
func (c chain) timeOf(number uint64) int64 {
	seconds := int64(blockTime / time.Second)
	if number <= snapshotBlock {
		return c.SnapshotTime - seconds*int64(snapshotBlock-number)
	}
	return c.Started + seconds*(int64(number)-snapshotBlock-lead)
}

// text is a hash of its arguments: 32 bytes in hex. It replaces Keccak-256, which nothing in the lab verifies.
func text(values ...any) string {
	sum := sha256.Sum256([]byte(fmt.Sprintln(values...)))
	return "0x" + hex.EncodeToString(sum[:])
}

func addressOf(values ...any) string { return text(values...)[:42] }

func hexadecimal(number uint64) string { return fmt.Sprintf("0x%x", number) }

// hash depends on the number alone, and not on the start of this chain: a database that followed an earlier sequencer of the
// lab agrees with a new one.
func (c chain) hash(number uint64) string {
	if c.ForkedFrom > 0 && number >= c.ForkedFrom {
		return text("forked block", number)
	}
	return text("block", number)
}

func (c chain) stateRoot(number uint64) string {
	if number == 0 {
		return genesisRoot
	}
	return text("state", c.hash(number))
}

func (c chain) parentHash(number uint64) string {
	if number == 0 {
		return "0x" + fmt.Sprintf("%064x", 0)
	}
	return c.hash(number - 1)
}

func batchOf(number uint64) uint64 { return (number + blocksPerBatch - 1) / blocksPerBatch }

// blocksOf returns the first and the last block of a batch, of those that exist.
func blocksOf(batch, head uint64) (first, last uint64) {
	if batch == 0 {
		return 0, 0
	}
	first, last = (batch-1)*blocksPerBatch+1, batch*blocksPerBatch
	if last > head {
		last = head
	}
	return first, last
}

// batch is a batch in the format of zkevm_getBatchByNumber, with its blocks and transactions, or only their hashes.
func (c chain) batch(number, head uint64, whole bool) map[string]any {
	first, last := blocksOf(number, head)
	blocks, transactions := []any{}, []any{}
	for n := first; n <= last; n++ {
		if whole {
			blocks = append(blocks, c.block(n, true))
		} else {
			blocks = append(blocks, c.hash(n))
		}
		transactions = append(transactions, c.block(n, whole)["transactions"].([]any)...)
	}
	none := "0x" + fmt.Sprintf("%064x", 0)
	return map[string]any{
		"number": hexadecimal(number), "closed": last == number*blocksPerBatch, "blocks": blocks, "transactions": transactions,
		"stateRoot": c.stateRoot(last), "timestamp": hexadecimal(uint64(c.timeOf(last))), "coinbase": addressOf("sequencer"),
		"globalExitRoot": none, "mainnetExitRoot": none, "rollupExitRoot": none, "localExitRoot": none,
		"accInputHash": text("input", c.hash(last)), "sendSequencesTxHash": nil, "verifyBatchTxHash": nil,
		"batchL2Data": text("data", c.hash(first), c.hash(last)),
	}
}

// transactionsIn returns one or two for each block, none for the first.
func transactionsIn(number uint64) int {
	if number == 0 {
		return 0
	}
	return 1 + int(number%2)
}

const gasOfTransaction = 51000

// header is a block's header in JSON-RPC format.
func (c chain) header(number uint64) map[string]any {
	return map[string]any{
		"number": hexadecimal(number), "hash": c.hash(number), "parentHash": c.parentHash(number),
		"timestamp": hexadecimal(uint64(c.timeOf(number))), "stateRoot": c.stateRoot(number),
		"sha3Uncles": text("no uncles"), "miner": addressOf("sequencer"), "transactionsRoot": text("transactions", c.hash(number)),
		"receiptsRoot": text("receipts", c.hash(number)), "logsBloom": "0x" + fmt.Sprintf("%0512x", 0), "difficulty": "0x0",
		"gasLimit": hexadecimal(gasLimit), "gasUsed": hexadecimal(uint64(gasOfTransaction * transactionsIn(number))),
		"extraData": "0x", "mixHash": "0x" + fmt.Sprintf("%064x", 0), "nonce": "0x0000000000000000", "baseFeePerGas": nil,
	}
}

// block is the complete block, with its transactions, or only their hashes.
func (c chain) block(number uint64, whole bool) map[string]any {
	b := c.header(number)
	transactions := []any{}
	for i := 0; i < transactionsIn(number); i++ {
		if whole {
			transactions = append(transactions, c.transaction(number, i))
		} else {
			transactions = append(transactions, c.transactionHash(number, i))
		}
	}
	b["transactions"] = transactions
	b["uncles"] = []any{}
	b["size"] = hexadecimal(uint64(500 + 200*len(transactions)))
	b["totalDifficulty"] = "0x0"
	return b
}

func (c chain) transactionHash(number uint64, index int) string {
	return text("transaction", index, c.hash(number))
}

func sender(number uint64, index int) string {
	return addressOf("account", (number*7+uint64(index))%97)
}
func recipient(number uint64, index int) string {
	return addressOf("account", (number*11+uint64(index))%89)
}

var token = addressOf("token")

func (c chain) transaction(number uint64, index int) map[string]any {
	return map[string]any{
		"hash": c.transactionHash(number, index), "blockHash": c.hash(number), "blockNumber": hexadecimal(number),
		"transactionIndex": hexadecimal(uint64(index)), "from": sender(number, index), "to": token, "nonce": hexadecimal(number),
		"gas": hexadecimal(gasOfTransaction), "gasPrice": hexadecimal(gasPrice), "value": "0x0", "type": "0x0",
		"chainId": hexadecimal(chainID), "input": c.input(number, index), "v": hexadecimal(chainID*2 + 35),
		"r": text("r", c.transactionHash(number, index)), "s": text("s", c.transactionHash(number, index)),
	}
}

// input is the call data of a token transfer.
func (c chain) input(number uint64, index int) string {
	return "0xa9059cbb" + word(recipient(number, index)) + fmt.Sprintf("%064x", number)
}

func word(address string) string { return "000000000000000000000000" + address[2:] }

var transferTopic = text("Transfer(address,address,uint256)")

func (c chain) receipt(number uint64, index int) map[string]any {
	hash := c.transactionHash(number, index)
	topics := []string{transferTopic, "0x" + word(sender(number, index)), "0x" + word(recipient(number, index))}
	entry := func(at int, topics []string) map[string]any {
		return map[string]any{
			"address": token, "data": fmt.Sprintf("0x%064x", number), "topics": topics, "logIndex": hexadecimal(uint64(at)),
			"blockNumber": hexadecimal(number), "blockHash": c.hash(number), "transactionHash": hash,
			"transactionIndex": hexadecimal(uint64(index)), "removed": false,
		}
	}
	return map[string]any{
		"transactionHash": hash, "transactionIndex": hexadecimal(uint64(index)), "blockHash": c.hash(number),
		"blockNumber": hexadecimal(number), "type": "0x0", "status": "0x1", "from": sender(number, index), "to": token,
		"cumulativeGasUsed": hexadecimal(uint64(gasOfTransaction * (index + 1))), "gasUsed": hexadecimal(gasOfTransaction),
		"effectiveGasPrice": hexadecimal(gasPrice), "contractAddress": nil, "logsBloom": "0x" + fmt.Sprintf("%0512x", 0),
		"logs": []any{entry(2*index, topics), entry(2*index+1, append(topics[:3:3], text("item", number)))},
	}
}

func (c chain) receipts(number uint64) []any {
	receipts := []any{}
	for i := 0; i < transactionsIn(number); i++ {
		receipts = append(receipts, c.receipt(number, i))
	}
	return receipts
}
