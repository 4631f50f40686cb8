package main

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"net/http"

	"github.com/gorilla/websocket"
)

// Both of the real program's values. Every Origin is served.
var upgrader = websocket.Upgrader{
	ReadBufferSize: 1024, WriteBufferSize: 1024,
	CheckOrigin: func(*http.Request) bool { return true },
}

// keyHeader as net/http writes it.
const keyHeader = "Sec-Websocket-Key"

// wrongKey is what the library of the current generation says of a key.
var wrongKey = errors.New("websocket: not a websocket handshake: 'Sec-WebSocket-Key' header must be Base64 encoded value of 16-byte in length")

// upgrade answers a handshake. The real program of the current generation has gorilla/websocket 1.5.1, the one of the older generation
// 1.5.0, which is Debian's and the one here. Their only difference for a client is the key: 1.5.1 wants 16 bytes in base64, 1.5.0 any
// text. Both look at it last. So a wrong key is taken away, and refused as a missing one.
func (s *rpcServer) upgrade(w http.ResponseWriter, r *http.Request) (*websocket.Conn, error) {
	isWrong := !s.own.anyWebSocketKey && !isWebSocketKey(r.Header.Get(keyHeader))
	if isWrong {
		r.Header.Del(keyHeader)
	}
	connection, err := upgrader.Upgrade(w, r, nil)
	if isWrong && err != nil && err.Error() == missingKey {
		err = wrongKey
	}
	return connection, err
}

// missingKey is what 1.5.0 says.
const missingKey = "websocket: not a websocket handshake: 'Sec-WebSocket-Key' header is missing or blank"

func isWebSocketKey(key string) bool {
	decoded, err := base64.StdEncoding.DecodeString(key)
	return err == nil && len(decoded) == 16
}

// webSocketHandler has no limit of requests, unlike the handler of HTTP.
func (s *rpcServer) webSocketHandler() http.Handler {
	return http.HandlerFunc(s.serveWebSocket)
}

func (s *rpcServer) serveWebSocket(w http.ResponseWriter, r *http.Request) {
	connection, err := s.upgrade(w, r)
	if err != nil {
		log.error("Unable to upgrade to a WS connection, %s", err.Error())
		return
	}
	defer connection.Close()
	connection.SetReadLimit(s.config.RPC.WebSockets.ReadLimit)
	log.info("Websocket connection established")
	for {
		kind, message, err := connection.ReadMessage()
		if err != nil {
			logEndOfWebSocket(err)
			return
		}
		if kind != websocket.TextMessage && kind != websocket.BinaryMessage {
			continue
		}
		// There are no batches, and no metrics.
		var request rpcRequest
		answer := []byte("WS Handle error: invalid json object request body")
		if json.Unmarshal(message, &request) == nil {
			answer = s.encoded(s.call(request))
		}
		if err := connection.WriteMessage(kind, answer); err != nil {
			return
		}
	}
}

func logEndOfWebSocket(err error) {
	switch {
	case websocket.IsCloseError(err, websocket.CloseGoingAway, websocket.CloseNormalClosure, websocket.CloseAbnormalClosure):
		log.info("Closing WS connection gracefully")
	case errors.Is(err, websocket.ErrReadLimit):
		log.info("Closing WS connection due to read limit exceeded")
	default:
		log.error("Unable to read WS message, %s", err.Error())
		log.info("Closing WS connection with error")
	}
}
