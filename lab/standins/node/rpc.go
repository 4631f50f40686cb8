package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"syscall"
	"time"
)

// Codes of JSON-RPC errors. All of them have HTTP status 200.
const (
	codeDefault        = -32000
	codeInvalidRequest = -32600
	codeNotFound       = -32601
	codeInvalidParams  = -32602
)

// longestRequest is in bytes.
const longestRequest = 5 << 20

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
		log.fatal(fmt.Errorf("http server: %w", server.ListenAndServe()))
	}()
	if c.WebSockets.Enabled {
		go serve("websocket server", address(c.WebSockets.Host, c.WebSockets.Port), s.webSocketHandler())
	}
}

func (s *rpcServer) serveHTTP(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Access-Control-Allow-Origin", "*")
	w.Header().Set("Access-Control-Allow-Methods", "POST, OPTIONS")
	w.Header().Set("Access-Control-Allow-Headers", "Accept, Content-Type, Content-Length, Accept-Encoding, X-CSRF-Token, Authorization")
	switch r.Method {
	case http.MethodOptions:
	case http.MethodGet:
		// In any state of the node.
		_, _ = io.WriteString(w, "zkEVM JSON RPC Server")
	case http.MethodPost:
		s.serveCall(w, r)
	default:
		s.invalid(w, http.StatusMethodNotAllowed, "method "+r.Method+" not allowed")
	}
}

// serveCall answers a request or a batch. Only what is no request has a status of HTTP other than 200.
func (s *rpcServer) serveCall(w http.ResponseWriter, r *http.Request) {
	if r.ContentLength > longestRequest {
		s.invalid(w, http.StatusRequestEntityTooLarge, fmt.Sprintf("content length too large (%d>%d)", r.ContentLength, longestRequest))
		return
	}
	kind, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	if err != nil || kind != "application/json" && kind != "application/json-rpc" && kind != "application/jsonrequest" {
		s.invalid(w, http.StatusUnsupportedMediaType, "invalid content type, only application/json is supported")
		return
	}
	body, err := io.ReadAll(io.LimitReader(r.Body, longestRequest))
	if err != nil {
		s.failed(w, err)
		return
	}
	body = bytes.TrimSpace(body)
	if len(body) == 0 {
		s.invalid(w, http.StatusBadRequest, "empty request body")
		return
	}
	defer s.metrics.observe(requestDuration, time.Now())
	single := body[0] != '['
	if single {
		s.metrics.requestHandled("single")
	} else if s.config.RPC.BatchRequestsEnabled {
		s.metrics.requestHandled("batch")
	}
	answer, status, fault := s.handle(body)
	if fault != "" {
		s.invalid(w, status, fault)
		return
	}
	if _, err := w.Write(answer); err != nil && single {
		s.failed(w, err)
	}
}

func (s *rpcServer) invalid(w http.ResponseWriter, status int, fault string) {
	s.metrics.requestHandled("invalid")
	http.Error(w, fault, status)
}

// failed counts a request that did not arrive whole, or whose answer could not be sent.
func (s *rpcServer) failed(w http.ResponseWriter, err error) {
	s.metrics.requestHandled("error")
	if !errors.Is(err, syscall.EPIPE) {
		http.Error(w, err.Error(), http.StatusInternalServerError)
	}
}

// handle answers a single request or a batch, or returns what is wrong with it and the status of HTTP.
func (s *rpcServer) handle(body []byte) (answer []byte, status int, fault string) {
	if body[0] != '[' {
		var request rpcRequest
		if err := json.Unmarshal(body, &request); err != nil {
			return nil, http.StatusBadRequest, "invalid json object request body"
		}
		return s.encoded(s.call(request)), 0, ""
	}
	var requests []rpcRequest
	switch err := json.Unmarshal(body, &requests); {
	case !s.config.RPC.BatchRequestsEnabled:
		return nil, http.StatusBadRequest, "batch requests are disabled"
	case err != nil:
		return nil, http.StatusBadRequest, "invalid json array request body"
	case s.config.RPC.BatchRequestsLimit > 0 && len(requests) > int(s.config.RPC.BatchRequestsLimit):
		return nil, http.StatusRequestEntityTooLarge, "batch requests limit exceeded"
	}
	answers := make([]rpcResponse, len(requests))
	for i, request := range requests {
		answers[i] = s.call(request)
	}
	return s.encoded(answers), 0, ""
}

func (s *rpcServer) encoded(answer any) []byte {
	content, err := json.Marshal(answer)
	if err != nil {
		log.error("answer: %v", err)
	}
	return content
}

func (s *rpcServer) call(request rpcRequest) rpcResponse {
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
