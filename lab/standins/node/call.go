package main

import (
	"bytes"
	"encoding/json"
)

// call is eth_call. As in Call of the real node's jsonrpc/endpoints_eth.go and internalProcessUnsignedTransaction of its
// state/transaction.go, it asks the hash database and then the executor, and says nothing more of a failure than that; the log has the
// reason. The stand-in only asks whether both speak gRPC, and answers as of an address without a contract.
func (n *node) call(params []json.RawMessage) (any, *rpcError) {
	for at, missing := range []string{"missing value for required argument 0", "missing value for required argument 1"} {
		if len(params) <= at || bytes.Equal(params[at], []byte("null")) {
			return nil, &rpcError{codeInvalidParams, missing}
		}
	}
	block, fault := n.blockByNumber(params[1:2])
	if fault != nil {
		return nil, fault
	}
	if block == nil {
		return nil, &rpcError{codeDefault, "header not found"}
	}
	for _, address := range []string{n.config.MTClient.URI, n.config.Executor.URI} {
		if err := checkProver(address); err != nil {
			log.error("failed to execute the unsigned transaction: %v", err)
			return nil, &rpcError{codeDefault, "failed to execute the unsigned transaction"}
		}
	}
	return "0x", nil
}
