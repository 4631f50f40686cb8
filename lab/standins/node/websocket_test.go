package main

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"
)

// rfcKey and rfcAccept are the pair of RFC 6455, section 1.3.
const (
	rfcKey    = "dGhlIHNhbXBsZSBub25jZQ=="
	rfcAccept = "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="
)

// handshake is a request with these headers; an empty one is left out.
func handshake(method, connection, upgrade, version, key string, more ...string) string {
	lines := []string{method + " / HTTP/1.1", "Host: localhost"}
	for name, value := range map[string]string{"Connection": connection, "Upgrade": upgrade, "Sec-WebSocket-Version": version, "Sec-WebSocket-Key": key} {
		if value != "" {
			lines = append(lines, name+": "+value)
		}
	}
	return strings.Join(append(lines, more...), "\r\n") + "\r\n\r\n"
}

// handshakes are requests by what is wrong with them.
var handshakes = []struct {
	name, request string
	// status of the current and of the older generation.
	current, older int
	// what the program logs; the older generation the same, or olderWords.
	words, olderWords string
}{
	{"right", handshake("GET", "Upgrade", "websocket", "13", rfcKey), 101, 101, "", ""},
	{"tokens in lists, in other letters", handshake("GET", "keep-alive, upgrade", "WebSocket", "13", rfcKey), 101, 101, "", ""},
	{"extensions are not agreed to", handshake("GET", "Upgrade", "websocket", "13", rfcKey, "Sec-WebSocket-Extensions: permessage-deflate"), 101, 101, "", ""},
	{"a protocol is not agreed to", handshake("GET", "Upgrade", "websocket", "13", rfcKey, "Sec-WebSocket-Protocol: chat"), 101, 101, "", ""},
	{"another origin", handshake("GET", "Upgrade", "websocket", "13", rfcKey, "Origin: https://elsewhere.example"), 101, 101, "", ""},
	{"no connection header", handshake("GET", "", "websocket", "13", rfcKey), 400, 400, "the client is not using the websocket protocol: 'upgrade' token not found in 'Connection' header", ""},
	{"another connection header", handshake("GET", "keep-alive", "websocket", "13", rfcKey), 400, 400, "'upgrade' token not found in 'Connection' header", ""},
	{"no upgrade header", handshake("GET", "Upgrade", "", "13", rfcKey), 400, 400, "the client is not using the websocket protocol: 'websocket' token not found in 'Upgrade' header", ""},
	{"another protocol", handshake("GET", "Upgrade", "h2c", "13", rfcKey), 400, 400, "'websocket' token not found in 'Upgrade' header", ""},
	{"POST", handshake("POST", "Upgrade", "websocket", "13", rfcKey, "Content-Length: 0"), 405, 405, "the client is not using the websocket protocol: request method is not GET", ""},
	{"no version", handshake("GET", "Upgrade", "websocket", "", rfcKey), 400, 400, "websocket: unsupported version: 13 not found in 'Sec-Websocket-Version' header", ""},
	{"version 8", handshake("GET", "Upgrade", "websocket", "8", rfcKey), 400, 400, "websocket: unsupported version: 13 not found in 'Sec-Websocket-Version' header", ""},
	{"no key", handshake("GET", "Upgrade", "websocket", "13", ""), 400, 400, "'Sec-WebSocket-Key' header must be Base64 encoded value of 16-byte in length", "'Sec-WebSocket-Key' header is missing or blank"},
	{"17 bytes", handshake("GET", "Upgrade", "websocket", "13", "cnBjLXBsYXlib29rcyBrZXk="), 400, 101, "'Sec-WebSocket-Key' header must be Base64 encoded value of 16-byte in length", ""},
	{"15 bytes", handshake("GET", "Upgrade", "websocket", "13", "MTIzNDU2Nzg5MDEyMzQ1"), 400, 101, "'Sec-WebSocket-Key' header must be Base64 encoded value of 16-byte in length", ""},
	{"no base64", handshake("GET", "Upgrade", "websocket", "13", "a key of sixteen"), 400, 101, "'Sec-WebSocket-Key' header must be Base64 encoded value of 16-byte in length", ""},
	{"a key without its padding", handshake("GET", "Upgrade", "websocket", "13", strings.TrimRight(rfcKey, "=")), 400, 101, "'Sec-WebSocket-Key' header must be Base64 encoded value of 16-byte in length", ""},
	{"more than the handshake", handshake("GET", "Upgrade", "websocket", "13", rfcKey) + "too early", 0, 0, "websocket: client sent data before handshake is complete", ""},
}

// answerTo sends a request and reads the head of the answer; nothing where the connection is closed.
func answerTo(t *testing.T, server *httptest.Server, request string) *http.Response {
	t.Helper()
	connection, err := net.Dial("tcp", server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer connection.Close()
	_ = connection.SetDeadline(time.Now().Add(5 * time.Second))
	_, _ = io.WriteString(connection, request)
	answer, err := http.ReadResponse(bufio.NewReader(connection), nil)
	if err != nil {
		return &http.Response{}
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		body, _ := io.ReadAll(answer.Body)
		answer.Status += " | " + string(body)
	}
	return answer
}

// logOf collects what the program logs until the test ends.
func logOf(t *testing.T) *lockedBuffer {
	before, buffer := log, &lockedBuffer{}
	log = logger{to: buffer, least: levels["error"]}
	t.Cleanup(func() { log = before })
	return buffer
}

type lockedBuffer struct {
	mutex sync.Mutex
	text  bytes.Buffer
}

func (b *lockedBuffer) Write(text []byte) (int, error) {
	b.mutex.Lock()
	defer b.mutex.Unlock()
	return b.text.Write(text)
}

// has waits for words: the server logs after its answer.
func (b *lockedBuffer) has(words string) bool {
	for tries := 0; tries < 100; tries++ {
		b.mutex.Lock()
		found := strings.Contains(b.text.String(), words)
		b.mutex.Unlock()
		if found {
			return true
		}
		time.Sleep(10 * time.Millisecond)
	}
	return false
}

func TestHandshakesAreRefusedAsByTheRealLibrary(t *testing.T) {
	for _, own := range []generation{currentGeneration, olderGeneration} {
		s := testServer(t, nil, "eth")
		s.node.own = own
		server := httptest.NewServer(http.HandlerFunc(s.serveWebSocket))
		for _, c := range handshakes {
			logged := logOf(t)
			wanted, words := c.current, c.words
			if own.anyWebSocketKey {
				wanted = c.older
				if c.olderWords != "" {
					words = c.olderWords
				}
			}
			answer := answerTo(t, server, c.request)
			if answer.StatusCode != wanted {
				t.Errorf("%s: %s: %d and not %d", own.version, c.name, answer.StatusCode, wanted)
			}
			switch wanted {
			case 101:
				if c.current == 101 && answer.Header.Get("Sec-WebSocket-Accept") != rfcAccept || len(answer.Header) != 3 {
					t.Errorf("%s: %s: %v", own.version, c.name, answer.Header)
				}
			case 0:
			default:
				body := fmt.Sprintf("%d %s | %[2]s\n", wanted, http.StatusText(wanted))
				if answer.Status != body || answer.Header.Get("Sec-WebSocket-Version") != "13" {
					t.Errorf("%s: %s: %q %v", own.version, c.name, answer.Status, answer.Header)
				}
			}
			if wanted != 101 && !logged.has("Unable to upgrade to a WS connection, websocket: ") || wanted != 101 && !logged.has(words) {
				t.Errorf("%s: %s: logged %q", own.version, c.name, logged.text.String())
			}
		}
		server.Close()
	}
}

func TestNeitherHandshakesNorMessagesHaveALimit(t *testing.T) {
	s := testServer(t, func(c *RPCConfig) { c.MaxRequestsPerIPAndSecond = 1 }, "eth")
	server := httptest.NewServer(s.webSocketHandler())
	defer server.Close()
	for i := 0; i < 5; i++ {
		if answer := answerTo(t, server, handshakes[0].request); answer.StatusCode != 101 {
			t.Error(answer.StatusCode)
		}
	}
}

func TestAnAnswerHasTheKindOfItsRequest(t *testing.T) {
	s := testServer(t, nil, "eth")
	server := httptest.NewServer(http.HandlerFunc(s.serveWebSocket))
	defer server.Close()
	for _, kind := range []byte{1, 2} {
		connection, err := net.Dial("tcp", server.Listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		_ = connection.SetDeadline(time.Now().Add(5 * time.Second))
		reader := bufio.NewReader(connection)
		_, _ = io.WriteString(connection, handshakes[0].request)
		if _, err := http.ReadResponse(reader, nil); err != nil {
			t.Fatal(err)
		}
		request := `{"jsonrpc":"2.0","id":7,"method":"eth_chainId"}`
		_, _ = connection.Write(append([]byte{0x80 | kind, byte(0x80 | len(request)), 0, 0, 0, 0}, request...))
		wanted := `{"id":7,"jsonrpc":"2.0","result":"0xd903"}`
		got := make([]byte, 2+len(wanted))
		if _, err := io.ReadFull(reader, got); err != nil || string(got) != string([]byte{0x80 | kind, byte(len(wanted))})+wanted {
			t.Errorf("%d: %v %q", kind, err, got)
		}
		connection.Close()
	}
}
