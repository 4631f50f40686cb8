package main

import (
	"bytes"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"
)

// Codes of JSON-RPC errors. All of them have HTTP status 200.
const (
	codeDefault        = -32000
	codeInvalidRequest = -32600
	codeNotFound       = -32601
	codeInvalidParams  = -32602
)

type rpcError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *rpcError) Error() string { return e.Message }

type rpcRequest struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Method  string          `json:"method"`
	Params  json.RawMessage `json:"params"`
}

type rpcResponse struct {
	Version string          `json:"jsonrpc"`
	ID      json.RawMessage `json:"id"`
	Result  any             `json:"result"`
	Error   *rpcError       `json:"error"`
}

// MarshalJSON writes either a result, which may be null, or an error.
func (r rpcResponse) MarshalJSON() ([]byte, error) {
	id := r.ID
	if id == nil {
		id = json.RawMessage("null")
	}
	fields := map[string]any{"jsonrpc": "2.0", "id": id, "result": r.Result}
	if r.Error != nil {
		delete(fields, "result")
		fields["error"] = r.Error
	}
	return json.Marshal(fields)
}

// rpcServer serves JSON-RPC over HTTP on one port and over WebSocket on another.
type rpcServer struct {
	*node
	methods map[string]method
	limit   *rateLimit
}

// newRPCServer serves the methods of the given namespaces.
func newRPCServer(n *node, apis []string) *rpcServer {
	served := map[string]bool{}
	for _, api := range apis {
		served[api] = true
	}
	s := &rpcServer{node: n, methods: map[string]method{}, limit: newRateLimit(n.config.RPC.MaxRequestsPerIPAndSecond)}
	for name, call := range allMethods(n) {
		if served[strings.SplitN(name, "_", 2)[0]] {
			s.methods[name] = call
		}
	}
	return s
}

// start listens; the program ends if a port is not available.
func (s *rpcServer) start() {
	c := s.config.RPC
	server := &http.Server{
		Addr: address(c.Host, c.Port), Handler: s.limit.around(http.HandlerFunc(s.serveHTTP)),
		ReadTimeout: c.ReadTimeout.Duration, WriteTimeout: c.WriteTimeout.Duration,
	}
	go func() {
		log.info("http server started: %s", server.Addr)
		log.fatal("http server: %v", server.ListenAndServe())
	}()
	if c.WebSockets.Enabled {
		go serve("websocket server", address(c.WebSockets.Host, c.WebSockets.Port), s.limit.around(http.HandlerFunc(s.serveWebSocket)))
	}
}

func (s *rpcServer) serveHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Access-Control-Allow-Headers", "Accept, Content-Type, Content-Length, Accept-Encoding")
	switch r.Method {
	case http.MethodGet, http.MethodOptions:
		// A health check by GET is answered in any state of the node.
	case http.MethodPost:
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(s.handle(body))
	default:
		http.Error(w, "method "+r.Method+" not allowed", http.StatusMethodNotAllowed)
	}
}

var upgrader = websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}

func (s *rpcServer) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	connection, err := upgrader.Upgrade(w, r, nil)
	if err != nil {
		return
	}
	defer connection.Close()
	for {
		kind, message, err := connection.ReadMessage()
		if err != nil {
			return
		}
		if kind != websocket.TextMessage && kind != websocket.BinaryMessage {
			continue
		}
		if err := connection.WriteMessage(websocket.TextMessage, s.handle(message)); err != nil {
			return
		}
	}
}

// handle answers a single request or a batch.
func (s *rpcServer) handle(body []byte) []byte {
	var answer any
	if trimmed := bytes.TrimSpace(body); len(trimmed) > 0 && trimmed[0] == '[' {
		answer = s.handleBatch(trimmed)
	} else {
		var request rpcRequest
		if err := json.Unmarshal(body, &request); err != nil {
			answer = rpcResponse{Error: &rpcError{codeInvalidRequest, "Invalid json request"}}
		} else {
			answer = s.call(request)
		}
	}
	content, err := json.Marshal(answer)
	if err != nil {
		log.error("answer: %v", err)
	}
	return content
}

func (s *rpcServer) handleBatch(body []byte) any {
	var requests []rpcRequest
	switch err := json.Unmarshal(body, &requests); {
	case !s.config.RPC.BatchRequestsEnabled:
		return rpcResponse{Error: &rpcError{codeInvalidRequest, "Batch requests are disabled"}}
	case err != nil:
		return rpcResponse{Error: &rpcError{codeInvalidRequest, "Invalid json request"}}
	case s.config.RPC.BatchRequestsLimit > 0 && len(requests) > int(s.config.RPC.BatchRequestsLimit):
		return rpcResponse{Error: &rpcError{codeInvalidRequest, "Batch requests limit exceeded"}}
	}
	answers := make([]rpcResponse, len(requests))
	for i, request := range requests {
		answers[i] = s.call(request)
	}
	return answers
}

func (s *rpcServer) call(request rpcRequest) rpcResponse {
	started := time.Now()
	answer := rpcResponse{ID: request.ID}
	call, served := s.methods[request.Method]
	var params []json.RawMessage
	switch {
	case request.Version != "2.0" || request.Method == "":
		answer.Error = &rpcError{codeInvalidRequest, "Invalid json request"}
	case !served:
		answer.Error = &rpcError{codeNotFound, "the method " + request.Method + " does not exist/is not available"}
	case len(request.Params) > 0 && json.Unmarshal(request.Params, &params) != nil:
		answer.Error = &rpcError{codeInvalidParams, "invalid params"}
	default:
		answer.Result, answer.Error = call(params)
	}
	s.metrics.requestHandled(answer.Error == nil, time.Since(started))
	return answer
}

// callerOf identifies the caller of a request: X-Forwarded-For has priority, so a caller can choose its name.
func callerOf(r *http.Request) string {
	for _, name := range []string{"X-Forwarded-For", "X-Real-IP"} {
		if value := r.Header.Get(name); value != "" {
			return strings.TrimSpace(strings.Split(value, ",")[0])
		}
	}
	host, _, err := net.SplitHostPort(r.RemoteAddr)
	if err != nil {
		return r.RemoteAddr
	}
	return host
}
