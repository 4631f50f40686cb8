package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// sequencer is the trusted sequencer: it has all blocks up to the head, and makes another every two seconds.
type sequencer struct {
	file  string
	mutex sync.Mutex
	chain chain
	// held is the head while the sequencer makes no more blocks; 0 otherwise.
	held uint64
}

// newSequencer continues the chain of a file; a first start is written into it, so that a restart continues the same chain.
func newSequencer(file string) (*sequencer, error) {
	c, err := loadChain(file)
	if err != nil {
		return nil, err
	}
	if c.Started == 0 {
		c.Started = time.Now().Unix()
		if err := c.save(file); err != nil {
			return nil, err
		}
	}
	return &sequencer{file: file, chain: c}, nil
}

// now returns the chain and its current head.
func (s *sequencer) now() (chain, uint64) {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.held > 0 {
		return s.chain, s.held
	}
	return s.chain, s.chain.head(time.Now())
}

func (s *sequencer) handler() http.Handler {
	// ofBlock calls answer for an existing block, and answers null for any other.
	ofBlock := func(answer func(c chain, number uint64, params []json.RawMessage) any) method {
		return func(params []json.RawMessage) (any, error) {
			c, head := s.now()
			number, err := blockNumber(params, head)
			if err != nil || number > head {
				return nil, err
			}
			return answer(c, number, params), nil
		}
	}
	batchLagging := func(lag uint64) method {
		return func([]json.RawMessage) (any, error) {
			_, head := s.now()
			return hexadecimal(batchOf(head) - lag), nil
		}
	}
	return jsonRPC(map[string]method{
		"eth_chainId":        constant(hexadecimal(chainID)),
		"eth_gasPrice":       constant(hexadecimal(gasPrice)),
		"eth_syncing":        constant(false),
		"net_version":        constant(strconv.Itoa(chainID)),
		"web3_clientVersion": constant("lab trusted sequencer (stand-in)"),
		"eth_blockNumber": func([]json.RawMessage) (any, error) {
			_, head := s.now()
			return hexadecimal(head), nil
		},
		"eth_getBlockByNumber": ofBlock(func(c chain, number uint64, params []json.RawMessage) any {
			whole := len(params) > 1 && string(params[1]) == "true"
			return c.block(number, whole)
		}),
		"eth_getBlockReceipts": ofBlock(func(c chain, number uint64, _ []json.RawMessage) any {
			return c.receipts(number)
		}),
		"zkevm_batchNumberByBlockNumber": ofBlock(func(_ chain, number uint64, _ []json.RawMessage) any {
			return hexadecimal(batchOf(number))
		}),
		"standin_goOnFrom": func(params []json.RawMessage) (any, error) {
			number, err := blockNumber(params, 0)
			if err != nil {
				return nil, err
			}
			return true, s.goOnFrom(number)
		},
		"zkevm_batchNumber":         batchLagging(0),
		"zkevm_virtualBatchNumber":  batchLagging(5),
		"zkevm_verifiedBatchNumber": batchLagging(10),
	})
}

// goOnFrom is called by a node stand-in that has more blocks than the sequencer, after its container was created again: the
// node's last block becomes the head.
func (s *sequencer) goOnFrom(number uint64) error {
	_, head := s.now()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if number <= head || s.held > 0 {
		return nil
	}
	fmt.Printf("sequencer goes on from block %d, which a node already has\n", number)
	s.chain.goOnFrom(number, time.Now())
	return s.chain.save(s.file)
}

// hold stops making blocks; after a release the chain continues at once at the current time.
func (s *sequencer) hold() {
	_, head := s.now()
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.held = head
}

func (s *sequencer) letGo() {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.held = 0
}

// fork changes all blocks from a number on, as if history had been rewritten; 0 ends the fork.
func (s *sequencer) fork(from uint64) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	s.chain.ForkedFrom = from
	return s.chain.save(s.file)
}

// layer1 is the layer-1 chain: its block number is the clock, and every contract in it returns the layer-2 chain id.
func layer1() http.Handler {
	const seconds = 12
	head := func() uint64 { return uint64(time.Now().Unix()) / seconds }
	return jsonRPC(map[string]method{
		"eth_chainId":        constant(hexadecimal(layer1ID)),
		"eth_syncing":        constant(false),
		"net_version":        constant(strconv.Itoa(layer1ID)),
		"web3_clientVersion": constant("lab layer 1 (stand-in)"),
		"eth_blockNumber":    func([]json.RawMessage) (any, error) { return hexadecimal(head()), nil },
		"eth_call":           constant(fmt.Sprintf("0x%064x", chainID)),
		"eth_getBlockByNumber": func(params []json.RawMessage) (any, error) {
			number, err := blockNumber(params, head())
			if err != nil || number > head() {
				return nil, err
			}
			return map[string]any{
				"number": hexadecimal(number), "hash": text("layer 1", number), "parentHash": text("layer 1", number-1),
				"timestamp": hexadecimal(number * seconds), "transactions": []any{},
			}, nil
		},
	})
}
