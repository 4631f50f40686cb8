package main

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"syscall"
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

// post sends a request by HTTP as JSON.
func post(s *rpcServer, body string) *httptest.ResponseRecorder {
	request := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(body))
	request.Header.Set("Content-Type", "application/json; charset=utf-8")
	answer := httptest.NewRecorder()
	s.serveHTTP(answer, request)
	return answer
}

func TestNamespaces(t *testing.T) {
	s := testServer(t, nil, "eth", "net")
	for body, wanted := range map[string]string{
		`{"jsonrpc":"2.0","id":7,"method":"eth_chainId","params":[]}`:              `{"id":7,"jsonrpc":"2.0","result":"0xd903"}`,
		`{"jsonrpc":"2.0","id":1,"method":"eth_syncing"}`:                          `{"id":1,"jsonrpc":"2.0","result":false}`,
		`{"jsonrpc":"2.0","id":1,"method":"debug_traceBlockByNumber","params":[]}`: `{"error":{"code":-32601,"message":"the method debug_traceBlockByNumber does not exist/is not available"},"id":1,"jsonrpc":"2.0"}`,
	} {
		if answer := post(s, body); answer.Body.String() != wanted || answer.Code != http.StatusOK {
			t.Errorf("%s: %d %s", body, answer.Code, answer.Body)
		}
	}
}

func TestCallNeedsBothArguments(t *testing.T) {
	s := testServer(t, nil, "eth")
	for params, missing := range map[string]string{`[]`: "0", `[null,"latest"]`: "0", `[{}]`: "1", `[{},null]`: "1"} {
		answer := post(s, `{"jsonrpc":"2.0","id":1,"method":"eth_call","params":`+params+`}`).Body.String()
		if !strings.Contains(answer, "missing value for required argument "+missing) {
			t.Errorf("%s: %s", params, answer)
		}
	}
}

func TestBatches(t *testing.T) {
	call := `{"jsonrpc":"2.0","id":1,"method":"net_version","params":[]}`
	s := testServer(t, func(c *RPCConfig) { c.BatchRequestsLimit = 2 }, "net")
	var answers []rpcAnswer
	if err := json.Unmarshal(post(s, "["+call+","+call+"]").Body.Bytes(), &answers); err != nil || len(answers) != 2 {
		t.Errorf("%v %v", answers, err)
	}
	if answer := post(s, "["+strings.Repeat(call+",", 2)+call+"]"); answer.Code != http.StatusRequestEntityTooLarge {
		t.Errorf("over the limit: %d", answer.Code)
	}
	off := testServer(t, func(c *RPCConfig) { c.BatchRequestsEnabled = false }, "net")
	if answer := post(off, "["+call+"]"); answer.Code != http.StatusBadRequest {
		t.Errorf("batches are off: %d", answer.Code)
	}
}

func TestWhatIsNoRequestHasAStatusOfItsOwn(t *testing.T) {
	s := testServer(t, nil, "eth")
	if answer := post(s, "nonsense"); answer.Code != http.StatusBadRequest {
		t.Error(answer.Code)
	}
	for method, wanted := range map[string]int{http.MethodGet: http.StatusOK, http.MethodPost: http.StatusUnsupportedMediaType, http.MethodPut: http.StatusMethodNotAllowed} {
		answer := httptest.NewRecorder()
		s.serveHTTP(answer, httptest.NewRequest(method, "/", strings.NewReader("{}")))
		if answer.Code != wanted {
			t.Errorf("%s: %d", method, answer.Code)
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

func TestMetricsHaveTheRealNamesAndTraps(t *testing.T) {
	s := testServer(t, nil, "eth")
	m := newMetrics("synchronizer", "rpc")
	s.metrics = m
	m.setLatestSyncedBatch(42)
	m.observe("synchronizer_full_L1_sync_time", time.Now().Add(-20*time.Millisecond))
	post(s, `{"jsonrpc":"2.0","id":1,"method":"eth_nonsense"}`)
	post(s, "nonsense")
	for _, line := range []string{
		"synchronizer_latest_synced_batch_number 42", `jsonrpc_request_handled{type="single"} 2`, `jsonrpc_request_handled{type="invalid"} 1`,
		`jsonrpc_request_duration_bucket{le="0.1"} 2`, `jsonrpc_request_duration_bucket{le="0.30000000000000004"} 2`,
		`synchronizer_full_L1_sync_time_bucket{le="0.01"} 0`, "synchronizer_full_L1_sync_time_count 1",
	} {
		if !strings.Contains(m.text(), "\n"+line+"\n") {
			t.Errorf("no %q in\n%s", line, m.text())
		}
	}
	if strings.Contains(m.text(), `type="error"`) || strings.Contains(newMetrics("rpc").text(), "synchronizer_") {
		t.Error("the real program has no such line")
	}
}

// brokenBody is that of a client that goes away.
type brokenBody struct{}

func (brokenBody) Read([]byte) (int, error) { return 0, errors.New("connection reset") }

// brokenAnswer is one that nobody takes.
type brokenAnswer struct{ *httptest.ResponseRecorder }

func (brokenAnswer) Write([]byte) (int, error) { return 0, syscall.EPIPE }

func TestRefusedRequestsAreCountedAsTheRealProgramCountsThem(t *testing.T) {
	const call = `{"jsonrpc":"2.0","id":1,"method":"eth_chainId"}`
	request := func(body io.Reader, kind string) *http.Request {
		r := httptest.NewRequest(http.MethodPost, "/", body)
		r.Header.Set("Content-Type", kind)
		return r
	}
	long := request(strings.NewReader(call), "application/json")
	long.ContentLength = longestRequest + 1
	for _, each := range []struct {
		what    string
		request *http.Request
		broken  bool
		wanted  map[string]uint64
	}{
		{"another content type", request(strings.NewReader(call), "text/plain"), false, map[string]uint64{"invalid": 1}},
		{"too long", long, false, map[string]uint64{"invalid": 1}},
		{"empty", request(strings.NewReader(" "), "application/json"), false, map[string]uint64{"invalid": 1}},
		{"no JSON", request(strings.NewReader("{"), "application/json"), false, map[string]uint64{"invalid": 1, "single": 1}},
		{"no JSON in a batch", request(strings.NewReader("[{"), "application/json"), false, map[string]uint64{"invalid": 1, "batch": 1}},
		{"client gone before the end", request(brokenBody{}, "application/json"), false, map[string]uint64{"error": 1}},
		{"client gone before the answer", request(strings.NewReader(call), "application/json"), true, map[string]uint64{"error": 1, "single": 1}},
	} {
		s := testServer(t, nil, "eth")
		var answer http.ResponseWriter = httptest.NewRecorder()
		if each.broken {
			answer = brokenAnswer{httptest.NewRecorder()}
		}
		s.serveHTTP(answer, each.request)
		if !reflect.DeepEqual(s.metrics.handled, each.wanted) {
			t.Errorf("%s: %v", each.what, s.metrics.handled)
		}
	}
}
