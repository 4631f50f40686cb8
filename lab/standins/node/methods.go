package main

import (
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

type method func(params []json.RawMessage) (any, *rpcError)

// allMethods has the methods of every namespace; their results come from the state database.
func allMethods(n *node) map[string]method {
	constant := func(value any) method {
		return func([]json.RawMessage) (any, *rpcError) { return value, nil }
	}
	return map[string]method{
		"eth_blockNumber":          n.blockNumber,
		"eth_call":                 n.call,
		"eth_chainId":              constant(quantity(n.chainID)),
		"eth_gasPrice":             constant(quantity(n.config.Pool.DefaultMinGasPriceAllowed)),
		"eth_getBlockByHash":       n.blockByHash,
		"eth_getBlockByNumber":     n.blockByNumber,
		"eth_getTransactionByHash": n.transactionByHash,
		// False does not mean synchronized: the node only knows its own blocks.
		"eth_syncing":                    constant(false),
		"net_version":                    constant(strconv.FormatUint(n.chainID, 10)),
		"web3_clientVersion":             constant("zkevm-node stand-in/" + n.own.version),
		"zkevm_batchNumber":              n.number("the last batch number", `select max(batch_num) from state.batch`),
		"zkevm_virtualBatchNumber":       n.number("the last virtual batch number", `select coalesce(max(batch_num), 0) from state.virtual_batch`),
		"zkevm_verifiedBatchNumber":      n.number("the last verified batch number", `select coalesce(max(batch_num), 0) from state.verified_batch`),
		"txpool_content":                 constant(map[string]any{"pending": map[string]any{}, "queued": map[string]any{}}),
		"debug_traceBlockByNumber":       constant([]any{}),
		"zkevm_isBlockConsolidated":      constant(false),
		"zkevm_batchNumberByBlockNumber": n.batchOfBlock,
	}
}

func (n *node) blockNumber([]json.RawMessage) (any, *rpcError) {
	return n.number("the last block number", `select max(block_num) from state.l2block`)(nil)
}

// number returns the number that a query selects; an empty database is an error, as in the real node.
func (n *node) number(what, query string) method {
	return func([]json.RawMessage) (any, *rpcError) {
		var number sql.NullInt64
		if err := n.state.QueryRow(query).Scan(&number); err != nil {
			log.error("failed to get %s from state: %v", what, err)
		}
		if !number.Valid {
			return nil, &rpcError{codeDefault, "failed to get " + what + " from state"}
		}
		return quantity(number.Int64), nil
	}
}

func (n *node) blockByNumber(params []json.RawMessage) (any, *rpcError) {
	number, fault := n.blockParameter(params)
	if fault != nil {
		return nil, fault
	}
	block, fault := n.oneBlock(params, `block_num = $1`, number)
	if which, _ := textParameter(params); which == "pending" && block != nil {
		return pendingAbove(block.(map[string]any), number), fault
	}
	return block, fault
}

// pendingAbove makes up the block above the last one, as GetBlockByNumber of the real node's jsonrpc/endpoints_eth.go does.
func pendingAbove(last map[string]any, number int64) map[string]any {
	pending := map[string]any{}
	for name, value := range last {
		pending[name] = value
	}
	pending["number"], pending["parentHash"] = quantity(number+1), last["hash"]
	pending["hash"], pending["transactions"] = fakeHash(fmt.Sprintf("above %s", last["hash"])), []json.RawMessage{}
	return pending
}

func (n *node) blockByHash(params []json.RawMessage) (any, *rpcError) {
	hash, fault := textParameter(params)
	if fault != nil {
		return nil, fault
	}
	return n.oneBlock(params, `block_hash = $1`, hash)
}

// oneBlock returns a block with its transactions, or their hashes; null if it does not exist.
func (n *node) oneBlock(params []json.RawMessage, condition string, value any) (any, *rpcError) {
	var whole bool
	if len(params) > 1 && json.Unmarshal(params[1], &whole) != nil {
		return nil, &rpcError{codeInvalidParams, "invalid argument 1: expected bool"}
	}
	var number int64
	var hash string
	var header, uncles []byte
	err := n.state.QueryRow(`select block_num, block_hash, header, coalesce(uncles, '[]') from state.l2block where `+condition, value).
		Scan(&number, &hash, &header, &uncles)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, failed("get the block", err)
	}
	fields := map[string]any{}
	if err := json.Unmarshal(header, &fields); err != nil {
		return nil, failed("read the block", err)
	}
	transactions, err := n.transactionsOf(number, whole)
	if err != nil {
		return nil, failed("get the block's transactions", err)
	}
	fields["hash"] = hash
	fields["uncles"] = json.RawMessage(uncles)
	fields["size"] = quantity(len(header))
	fields["transactions"] = transactions
	return fields, nil
}

func (n *node) transactionsOf(number int64, whole bool) ([]json.RawMessage, error) {
	rows, err := n.state.Query(`select to_jsonb(t.hash), t.decoded from state.transaction t
		left join state.receipt r on r.tx_hash = t.hash where t.l2_block_num = $1 order by r.tx_index`, number)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	transactions := []json.RawMessage{}
	for rows.Next() {
		var hash, decoded []byte
		if err := rows.Scan(&hash, &decoded); err != nil {
			return nil, err
		}
		if whole {
			hash = decoded
		}
		transactions = append(transactions, append(json.RawMessage(nil), hash...))
	}
	return transactions, rows.Err()
}

func (n *node) transactionByHash(params []json.RawMessage) (any, *rpcError) {
	hash, fault := textParameter(params)
	if fault != nil {
		return nil, fault
	}
	var decoded []byte
	err := n.state.QueryRow(`select decoded from state.transaction where hash = $1`, hash).Scan(&decoded)
	if errors.Is(err, sql.ErrNoRows) {
		return nil, nil
	}
	if err != nil {
		return nil, failed("get the transaction", err)
	}
	return json.RawMessage(decoded), nil
}

func (n *node) batchOfBlock(params []json.RawMessage) (any, *rpcError) {
	number, fault := n.blockParameter(params)
	if fault != nil {
		return nil, fault
	}
	return n.number("the batch number", fmt.Sprintf(`select batch_num from state.l2block where block_num = %d`, number))(nil)
}

// blockParameter reads a block's number from the first parameter: a quantity or a tag.
func (n *node) blockParameter(params []json.RawMessage) (int64, *rpcError) {
	text, fault := textParameter(params)
	if fault != nil {
		return 0, fault
	}
	switch text {
	case "earliest":
		return 0, nil
	case "latest", "pending", "safe", "finalized", "":
		last, fault := n.blockNumber(nil)
		if fault != nil {
			return 0, fault
		}
		return int64(last.(quantity)), nil
	}
	number, err := strconv.ParseInt(strings.TrimPrefix(text, "0x"), 16, 64)
	if err != nil || !strings.HasPrefix(text, "0x") {
		return 0, &rpcError{codeInvalidParams, "invalid argument 0: not a block number: " + text}
	}
	return number, nil
}

func textParameter(params []json.RawMessage) (string, *rpcError) {
	if len(params) == 0 {
		return "", &rpcError{codeInvalidParams, "missing value for required argument 0"}
	}
	var text string
	if json.Unmarshal(params[0], &text) != nil {
		return "", &rpcError{codeInvalidParams, "invalid argument 0: expected text"}
	}
	return text, nil
}

// failed logs the cause, and returns only the operation to the caller.
func failed(what string, err error) *rpcError {
	log.error("failed to %s from state: %v", what, err)
	return &rpcError{codeDefault, "failed to " + what + " from state"}
}
