package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

// layer1Server answers eth_call by what its data starts with, and all else by its method.
func layer1Server(t *testing.T, answers map[string]string) *etherman {
	t.Helper()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var call struct {
			Method string
			Params []json.RawMessage
		}
		_ = json.NewDecoder(r.Body).Decode(&call)
		for start, answer := range answers {
			if call.Method == start || call.Method == "eth_call" && strings.Contains(string(call.Params[0]), start) {
				fmt.Fprintf(w, `{"jsonrpc":"2.0","id":1,"result":%s}`, answer)
				return
			}
		}
		fmt.Fprint(w, `{"jsonrpc":"2.0","id":1,"error":{"code":3,"message":"execution reverted"}}`)
	}))
	t.Cleanup(server.Close)
	return &etherman{client: newRPCClient(server.URL), rollupID: 1}
}

func TestChainIDComesFromTheRollupManager(t *testing.T) {
	e := layer1Server(t, map[string]string{rollupDataMethod: `"0x` + word("0") + word("d903") + `"`})
	if id, err := e.chainID(); id != 55555 || err != nil {
		t.Error(id, err)
	}
}

func TestLayer1WithoutTheContracts(t *testing.T) {
	e := layer1Server(t, map[string]string{dataAvailabilityMethod: `"0x"`, "eth_getCode": `"0x"`, "eth_getLogs": "[]"})
	if _, err := e.dataAvailability(); err == nil || err.Error() != "no contract code at given address" {
		t.Error(err)
	}
	if err := e.verifyGenesisBlock(); err == nil || !strings.Contains(err.Error(), "does not contain any forkID event") {
		t.Error(err)
	}
}

func TestLayer1ThatIsAwayIsNamedAsGoNamesIt(t *testing.T) {
	e := &etherman{client: newRPCClient("http://127.0.0.1:9")}
	if _, err := e.chainID(); err == nil || err.Error() != `Post "http://127.0.0.1:9": dial tcp 127.0.0.1:9: connect: connection refused` {
		t.Error(err)
	}
}
