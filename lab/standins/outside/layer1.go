package main

import (
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
)

const (
	// layer1First is the oldest block that layer 1 still has; the genesis files name the blocks after it.
	layer1First = 4789000
	// layer1Start is the time of that block, in Unix seconds: 2025-01-01. Number, time and hash of a block belong together for ever, so
	// that a database that followed an earlier layer 1 of the lab agrees with a new one.
	layer1Start = 1735689600
	// layer1BlockTime is long, because the hash of each block needs that of the one before it.
	layer1BlockTime = 3600
	// finalityDepth is how far the finalized block is behind the newest.
	finalityDepth = 2
)

// layer1 is the layer-1 chain: the clock makes its blocks, which hold the rollup's contracts and one event, its creation. A block's hash
// is that of its header, as a node computes it itself.
type layer1 struct {
	mutex sync.Mutex
	// hashes are those of the blocks from layer1First on, as far as they were needed; own are those of its own history.
	hashes, own [][32]byte
	// otherFrom is the first block of another history; 0 for none.
	otherFrom uint64
	// id is the chain id; on any other than its own there are no contracts.
	id uint64
}

func newLayer1() *layer1 { return &layer1{id: layer1ID} }

// layer1Head is the newest block's number.
func layer1Head(now time.Time) uint64 {
	if now.Unix() < layer1Start {
		return layer1First
	}
	return layer1First + uint64(now.Unix()-layer1Start)/layer1BlockTime
}

func layer1Time(number uint64) int64 {
	return layer1Start + layer1BlockTime*int64(number-layer1First)
}

// fork changes the history from a block on; 0 restores it. It returns when the hashes up to now are known: they take a second.
func (l *layer1) fork(from uint64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.otherFrom == 0 {
		l.own = l.hashes
	}
	l.otherFrom = from
	l.hashes = l.own
	if from > 0 {
		same := 0
		if from > layer1First {
			same = int(from - layer1First)
		}
		if same > len(l.own) {
			same = len(l.own)
		}
		l.hashes = append([][32]byte(nil), l.own[:same]...)
	}
	l.extend(layer1Head(time.Now()))
}

// extend is called with the mutex held.
func (l *layer1) extend(to uint64) {
	for next := layer1First + uint64(len(l.hashes)); next <= to; next++ {
		l.hashes = append(l.hashes, keccak(l.header(next).encode()))
	}
}

func (l *layer1) setChainID(id uint64) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.id = id
}

func (l *layer1) chainID() uint64 {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.id
}

// hash returns the hash of a block from layer1First on, and of the block before it.
func (l *layer1) hash(number uint64) (own, parent string) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	l.extend(number)
	return inHex(l.hashes[number-layer1First][:]), inHex(l.parent(number))
}

// parent is called with the mutex held.
func (l *layer1) parent(number uint64) []byte {
	if number == layer1First {
		return make([]byte, 32)
	}
	return l.hashes[number-layer1First-1][:]
}

type layer1Header struct {
	parent       []byte
	number, time uint64
	extra        string
}

// header is called with the mutex held.
func (l *layer1) header(number uint64) layer1Header {
	extra := "lab"
	if l.otherFrom > 0 && number >= l.otherFrom {
		extra = "other history"
	}
	return layer1Header{l.parent(number), number, uint64(layer1Time(number)), extra}
}

const (
	// noUncles and noTransactions are the hashes of the empty list and of the empty tree.
	noUncles       = "0x1dcc4de8dec75d7aab85b567b6ccd41ad312451b948a7413f0a142fd40d49347"
	noTransactions = "0x56e81f171bcc55a6ff8345e692c0f86e5b48e01b996cadc001622fb5e363b421"
	baseFee        = 7
)

// encode returns the header as Ethereum hashes it: all fields in order, in RLP.
func (h layer1Header) encode() []byte {
	zero := func(bytes int) []byte { return make([]byte, bytes) }
	return rlpList(
		h.parent, fromHex(noUncles), zero(20), zero(32), fromHex(noTransactions), fromHex(noTransactions), zero(256), nil,
		shortest(h.number), shortest(gasLimit), nil, shortest(h.time), []byte(h.extra), zero(32), zero(8), shortest(baseFee),
	)
}

// rlpList encodes a list of byte strings.
func rlpList(items ...[]byte) []byte {
	var content []byte
	for _, item := range items {
		if len(item) == 1 && item[0] < 0x80 {
			content = append(content, item[0])
			continue
		}
		content = append(append(content, rlpLength(0x80, len(item))...), item...)
	}
	return append(rlpLength(0xc0, len(content)), content...)
}

func rlpLength(kind byte, length int) []byte {
	if length < 56 {
		return []byte{kind + byte(length)}
	}
	digits := shortest(uint64(length))
	return append([]byte{kind + 55 + byte(len(digits))}, digits...)
}

// shortest is a number without leading zero bytes; 0 has none.
func shortest(number uint64) (digits []byte) {
	for ; number > 0; number >>= 8 {
		digits = append([]byte{byte(number)}, digits...)
	}
	return digits
}

func inHex(data []byte) string { return "0x" + hex.EncodeToString(data) }

func fromHex(text string) []byte {
	data, err := hex.DecodeString(strings.TrimPrefix(text, "0x"))
	if err != nil {
		panic(err)
	}
	return data
}

func (l *layer1) block(number uint64) any {
	hash, parent := l.hash(number)
	l.mutex.Lock()
	h := l.header(number)
	l.mutex.Unlock()
	return map[string]any{
		"number": hexadecimal(number), "hash": hash, "parentHash": parent, "timestamp": hexadecimal(h.time),
		"sha3Uncles": noUncles, "miner": zeros(20), "stateRoot": zeros(32), "transactionsRoot": noTransactions,
		"receiptsRoot": noTransactions, "logsBloom": zeros(256), "difficulty": "0x0", "gasLimit": hexadecimal(gasLimit), "gasUsed": "0x0",
		"extraData": inHex([]byte(h.extra)), "mixHash": zeros(32), "nonce": zeros(8), "baseFeePerGas": hexadecimal(baseFee),
		"transactions": []any{}, "uncles": []any{}, "size": "0x220", "totalDifficulty": "0x0",
	}
}

func zeros(bytes int) string { return "0x" + strings.Repeat("00", bytes) }

func (l *layer1) handler() http.Handler {
	id := func([]json.RawMessage) (any, error) { return hexadecimal(l.chainID()), nil }
	return jsonRPC(map[string]method{
		"eth_chainId":        id,
		"eth_syncing":        constant(false),
		"net_version":        func([]json.RawMessage) (any, error) { return strconv.FormatUint(l.chainID(), 10), nil },
		"web3_clientVersion": constant("lab layer 1 (stand-in)"),
		"eth_gasPrice":       constant(hexadecimal(gasPrice)),
		"eth_blockNumber":    func([]json.RawMessage) (any, error) { return hexadecimal(layer1Head(time.Now())), nil },
		"eth_getBlockByNumber": func(params []json.RawMessage) (any, error) {
			head := layer1Head(time.Now())
			number, err := l.blockNumber(params, head)
			if err != nil || number > head || number < layer1First {
				return nil, err
			}
			return l.block(number), nil
		},
		"eth_call":    l.call,
		"eth_getCode": l.code,
		"eth_getLogs": l.logs,
	})
}

// blockNumber also knows the tags of a chain that finalizes its blocks.
func (l *layer1) blockNumber(params []json.RawMessage, head uint64) (uint64, error) {
	if len(params) > 0 && (string(params[0]) == `"finalized"` || string(params[0]) == `"safe"`) && head > layer1First+finalityDepth {
		return head - finalityDepth, nil
	}
	return blockNumber(params, head)
}

// logs answers with the rollup's creation, if the filter selects it. Another history has none.
func (l *layer1) logs(params []json.RawMessage) (any, error) {
	var filter struct {
		FromBlock, ToBlock string
		Address            any
		Topics             []any
	}
	if len(params) == 0 || json.Unmarshal(params[0], &filter) != nil {
		return nil, fmt.Errorf("invalid argument 0: not a filter")
	}
	bounds := []uint64{}
	for _, bound := range []string{filter.FromBlock, filter.ToBlock} {
		if bound == "" {
			bound = "latest"
		}
		number, err := l.blockNumber([]json.RawMessage{json.RawMessage(strconv.Quote(bound))}, layer1Head(time.Now()))
		if err != nil {
			return nil, err
		}
		bounds = append(bounds, number)
	}
	l.mutex.Lock()
	absent := l.id != layer1ID || l.otherFrom > 0 && l.otherFrom <= rollupCreated
	l.mutex.Unlock()
	created := topic("CreateNewRollup(uint32,uint32,address,uint64,address)")
	first := any(nil)
	if len(filter.Topics) > 0 {
		first = filter.Topics[0]
	}
	if absent || bounds[0] > rollupCreated || bounds[1] < rollupCreated || !selects(filter.Address, rollupManager) || !selects(first, created) {
		return []any{}, nil
	}
	hash, _ := l.hash(rollupCreated)
	return []any{map[string]any{
		"address": rollupManager, "topics": []string{created, number256(rollupID)},
		"data": "0x" + words(number256(rollupType), rollup, number256(chainID), zeros(20)), "blockNumber": hexadecimal(rollupCreated),
		"blockHash": hash, "transactionHash": text("creation of the rollup"), "transactionIndex": "0x0", "logIndex": "0x0", "removed": false,
	}}, nil
}

// selects says whether a part of a filter allows a value: it is missing, the value itself, or a list with the value.
func selects(filter any, value string) bool {
	switch wanted := filter.(type) {
	case nil:
		return true
	case string:
		return strings.EqualFold(wanted, value)
	case []any:
		for _, one := range wanted {
			if one, is := one.(string); is && strings.EqualFold(one, value) {
				return true
			}
		}
		return len(wanted) == 0
	}
	return false
}
