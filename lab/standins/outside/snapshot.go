package main

import (
	"bufio"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"
)

// proverNodes and proverPrograms are the numbers of rows in the prover's snapshot.
const (
	proverNodes    = 30000
	proverPrograms = 500
)

// writeSnapshot writes the rows of one of the two snapshots as SQL for psql, for existing, empty tables.
func writeSnapshot(to io.Writer, which, file string) error {
	c, err := loadChain(file)
	if err != nil {
		return err
	}
	switch which {
	case "state":
		return stateSnapshot(to, c, snapshotBlock)
	case "prover":
		return proverSnapshot(to)
	}
	return fmt.Errorf("no snapshot of %q", which)
}

// absent is NULL in COPY's format.
const absent = `\N`

func stateSnapshot(to io.Writer, c chain, last uint64) error {
	out := bufio.NewWriter(to)
	// Each of the snapshot's batches has a block on layer 1, whose newest block is older than the snapshot.
	first := newLayer1()
	layer1Block := func(batch uint64) uint64 {
		return layer1Head(time.Unix(c.SnapshotTime, 0)) - finalityDepth - batchOf(last) + batch
	}
	copyTable(out, "state.block", "block_num, block_hash, parent_hash, received_at", func(row func(...any)) {
		for n := uint64(1); n <= batchOf(last); n++ {
			hash, parent := first.hash(layer1Block(n))
			row(layer1Block(n), hash, parent, inUTC(layer1Time(layer1Block(n))))
		}
	})
	copyTable(out, "state.batch", "batch_num, global_exit_root, local_exit_root, acc_input_hash, state_root, timestamp, coinbase, raw_txs_data, wip", func(row func(...any)) {
		for n := uint64(0); n <= batchOf(last); n++ {
			end := n * blocksPerBatch
			row(n, text("global exit root", n), text("local exit root", n), text("input", n), c.stateRoot(end), timestamp(c, end), addressOf("sequencer"), `\\x`, "f")
		}
	})
	// Layer 1 lags behind: these two keep the values of the snapshot.
	copyTable(out, "state.virtual_batch", "batch_num, tx_hash, coinbase, block_num", func(row func(...any)) {
		for n := uint64(1); n+5 <= batchOf(last); n++ {
			row(n, text("virtual", n), addressOf("sequencer"), layer1Block(n))
		}
	})
	copyTable(out, "state.verified_batch", "batch_num, tx_hash, aggregator, block_num", func(row func(...any)) {
		for n := uint64(1); n+10 <= batchOf(last); n++ {
			row(n, text("verified", n), addressOf("aggregator"), layer1Block(n))
		}
	})
	copyTable(out, "state.l2block", "block_num, block_hash, header, uncles, parent_hash, state_root, received_at, created_at, batch_num", func(row func(...any)) {
		for n := uint64(0); n <= last; n++ {
			row(n, c.hash(n), inJSON(c.header(n)), "[]", c.parentHash(n), c.stateRoot(n), timestamp(c, n), timestamp(c, n), batchOf(n))
		}
	})
	each := func(visit func(n uint64, i int)) {
		for n := uint64(0); n <= last; n++ {
			for i := 0; i < transactionsIn(n); i++ {
				visit(n, i)
			}
		}
	}
	copyTable(out, "state.transaction", "hash, encoded, decoded, l2_block_num, effective_percentage, l2_hash", func(row func(...any)) {
		each(func(n uint64, i int) {
			row(c.transactionHash(n, i), c.input(n, i), inJSON(c.transaction(n, i)), n, 255, c.transactionHash(n, i))
		})
	})
	copyTable(out, "state.receipt", "tx_hash, type, post_state, status, cumulative_gas_used, gas_used, block_num, tx_index, contract_address, effective_gas_price", func(row func(...any)) {
		each(func(n uint64, i int) {
			row(c.transactionHash(n, i), 0, absent, 1, gasOfTransaction*(i+1), gasOfTransaction, n, i, absent, gasPrice)
		})
	})
	copyTable(out, "state.log", "tx_hash, log_index, address, data, topic0, topic1, topic2, topic3", func(row func(...any)) {
		each(func(n uint64, i int) {
			for at, entry := range c.receipt(n, i)["logs"].([]any) {
				l := entry.(map[string]any)
				topics := append(append([]string(nil), l["topics"].([]string)...), absent)
				row(c.transactionHash(n, i), 2*i+at, l["address"], l["data"], topics[0], topics[1], topics[2], topics[3])
			}
		})
	})
	return out.Flush()
}

// proverSnapshot writes rows that look random, like hashes, and so compress as badly.
func proverSnapshot(to io.Writer) error {
	out := bufio.NewWriter(to)
	table := func(name string, count, words int) {
		copyTable(out, name, "hash, data", func(row func(...any)) {
			for n := 0; n < count; n++ {
				var data strings.Builder
				for i := 0; i < words; i++ {
					fmt.Fprintf(&data, "%x", sha256.Sum256([]byte(fmt.Sprintln(name, n, i))))
				}
				row(`\\x`+text(name, n)[2:], `\\x`+data.String())
			}
		})
	}
	table("state.nodes", proverNodes, 8)
	table("state.program", proverPrograms, 24)
	return out.Flush()
}

func copyTable(out io.Writer, table, columns string, rows func(row func(...any))) {
	fmt.Fprintf(out, "COPY %s (%s) FROM stdin;\n", table, columns)
	rows(func(values ...any) {
		fields := make([]string, len(values))
		for i, value := range values {
			fields[i] = fmt.Sprint(value)
		}
		fmt.Fprintln(out, strings.Join(fields, "\t"))
	})
	fmt.Fprintln(out, `\.`)
}

func timestamp(c chain, number uint64) string { return inUTC(c.timeOf(number)) }

func inUTC(seconds int64) string {
	return time.Unix(seconds, 0).UTC().Format("2006-01-02 15:04:05Z07:00")
}

func inJSON(value any) string {
	content, _ := json.Marshal(value)
	return string(content)
}
