package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync/atomic"
)

type method func(params []json.RawMessage) (any, error)

type request struct {
	ID     json.RawMessage   `json:"id"`
	Method string            `json:"method"`
	Params []json.RawMessage `json:"params"`
}

// jsonRPC answers calls, single or in a batch, always with HTTP status 200.
func jsonRPC(methods map[string]method) http.Handler {
	call := func(r request) map[string]any {
		id := r.ID
		if id == nil {
			id = json.RawMessage("null")
		}
		answer := map[string]any{"jsonrpc": "2.0", "id": id}
		found, known := methods[r.Method]
		if !known {
			answer["error"] = map[string]any{"code": -32601, "message": "the method " + r.Method + " does not exist/is not available"}
			return answer
		}
		result, err := found(r.Params)
		if err != nil {
			code := -32602
			if errors.Is(err, errReverted) {
				code = 3
			}
			answer["error"] = map[string]any{"code": code, "message": err.Error()}
			return answer
		}
		answer["result"] = result
		return answer
	}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost {
			return
		}
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		var answer any
		if bytes.HasPrefix(bytes.TrimSpace(body), []byte("[")) {
			var requests []request
			if err = json.Unmarshal(body, &requests); err == nil {
				answers := []any{}
				for _, one := range requests {
					answers = append(answers, call(one))
				}
				answer = answers
			}
		} else {
			var one request
			if err = json.Unmarshal(body, &one); err == nil {
				answer = call(one)
			}
		}
		if err != nil {
			answer = map[string]any{"jsonrpc": "2.0", "id": nil, "error": map[string]any{"code": -32600, "message": "Invalid json request"}}
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(answer)
	})
}

// failing makes a server answer every request with an error: a status of HTTP, or with 200 an error of JSON-RPC. 0 is no fault.
type failing struct {
	status int64
	server http.Handler
}

func (f *failing) set(status int64) { atomic.StoreInt64(&f.status, status) }

func (f *failing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	switch status := int(atomic.LoadInt64(&f.status)); status {
	case 0:
		f.server.ServeHTTP(w, r)
	case http.StatusOK:
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{"jsonrpc":"2.0","id":1,"error":{"code":-32000,"message":"the lab makes this server fail"}}`)
	default:
		http.Error(w, http.StatusText(status), status)
	}
}

func constant(value any) method {
	return func([]json.RawMessage) (any, error) { return value, nil }
}

// blockNumber reads a block's number from the first parameter: a quantity, or a tag that means the head.
func blockNumber(params []json.RawMessage, head uint64) (uint64, error) {
	var text string
	if len(params) == 0 || json.Unmarshal(params[0], &text) != nil {
		return 0, fmt.Errorf("missing value for required argument 0")
	}
	switch text {
	case "latest", "pending", "safe", "finalized":
		return head, nil
	case "earliest":
		return 0, nil
	}
	number, err := strconv.ParseUint(strings.TrimPrefix(text, "0x"), 16, 64)
	if err != nil || !strings.HasPrefix(text, "0x") {
		return 0, fmt.Errorf("invalid argument 0: not a block number: %s", text)
	}
	return number, nil
}
