package main

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func testServer(t *testing.T, change func(*RPCConfig), apis ...string) *rpcServer {
	t.Helper()
	n := &node{own: currentGeneration, config: defaultConfig(), chainID: 55555, metrics: newMetrics()}
	n.config.RPC.BatchRequestsEnabled = true
	if change != nil {
		change(&n.config.RPC)
	}
	return newRPCServer(n, apis)
}

func errorCode(t *testing.T, answer []byte) int {
	t.Helper()
	var parsed struct {
		Error *rpcError `json:"error"`
	}
	if err := json.Unmarshal(answer, &parsed); err != nil {
		t.Fatalf("%s: %v", answer, err)
	}
	if parsed.Error == nil {
		return 0
	}
	return parsed.Error.Code
}

func TestNamespaces(t *testing.T) {
	s := testServer(t, nil, "eth", "net")
	if answer := s.handle([]byte(`{"jsonrpc":"2.0","id":7,"method":"eth_chainId","params":[]}`)); string(answer) != `{"id":7,"jsonrpc":"2.0","result":"0xd903"}` {
		t.Errorf("%s", answer)
	}
	if code := errorCode(t, s.handle([]byte(`{"jsonrpc":"2.0","id":1,"method":"debug_traceBlockByNumber","params":[]}`))); code != codeNotFound {
		t.Errorf("a namespace that is not served: %d", code)
	}
	if answer := s.handle([]byte(`{"jsonrpc":"2.0","id":1,"method":"eth_syncing"}`)); string(answer) != `{"id":1,"jsonrpc":"2.0","result":false}` {
		t.Errorf("%s", answer)
	}
}

func TestBatches(t *testing.T) {
	call := `{"jsonrpc":"2.0","id":1,"method":"net_version","params":[]}`
	s := testServer(t, func(c *RPCConfig) { c.BatchRequestsLimit = 2 }, "net")
	var answers []rpcAnswer
	if err := json.Unmarshal(s.handle([]byte("["+call+","+call+"]")), &answers); err != nil || len(answers) != 2 {
		t.Errorf("%v %v", answers, err)
	}
	if code := errorCode(t, s.handle([]byte("["+strings.Repeat(call+",", 2)+call+"]"))); code != codeInvalidRequest {
		t.Errorf("over the limit: %d", code)
	}
	off := testServer(t, func(c *RPCConfig) { c.BatchRequestsEnabled = false }, "net")
	if code := errorCode(t, off.handle([]byte("["+call+"]"))); code != codeInvalidRequest {
		t.Errorf("batches are off: %d", code)
	}
}

func TestHTTPStatusTellsNothing(t *testing.T) {
	s := testServer(t, nil, "eth")
	for _, request := range []*http.Request{
		httptest.NewRequest(http.MethodGet, "/", nil),
		httptest.NewRequest(http.MethodPost, "/", strings.NewReader("nonsense")),
	} {
		answer := httptest.NewRecorder()
		s.serveHTTP(answer, request)
		if answer.Code != http.StatusOK {
			t.Errorf("%s: %d", request.Method, answer.Code)
		}
	}
}

func TestRateLimitBelievesForwardedFor(t *testing.T) {
	limit := newRateLimit(1)
	now := time.Unix(1, 0)
	request := httptest.NewRequest(http.MethodPost, "/", nil)
	if !limit.allows(callerOf(request), now) || limit.allows(callerOf(request), now) {
		t.Error("one request a second")
	}
	request.Header.Set("X-Forwarded-For", "203.0.113.9, 10.0.0.1")
	if !limit.allows(callerOf(request), now) {
		t.Error("another name is another caller")
	}
	if !limit.allows("192.0.2.1", now.Add(time.Second)) {
		t.Error("another second")
	}
}

func TestMetricNames(t *testing.T) {
	m := newMetrics()
	m.setLatestSyncedBatch(42)
	m.requestHandled(true, 20*time.Millisecond)
	for _, line := range []string{"synchronizer_latest_synced_batch_number 42", `jsonrpc_request_handled{type="single"} 1`, `jsonrpc_request_duration_bucket{le="0.025"} 1`, "jsonrpc_request_duration_count 1"} {
		if !strings.Contains(m.text(), line+"\n") {
			t.Errorf("no %q in\n%s", line, m.text())
		}
	}
}
