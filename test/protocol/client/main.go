// Clients and a server with the libraries of the real programs: go-ethereum's RPC client, which
// users of a node have, gorilla/websocket 1.5.1, by which json-rpc v3.1.0 serves, and pgx v4, by
// which the node reaches its databases.
package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"os"
	"time"

	"github.com/ethereum/go-ethereum/rpc"
	"github.com/gorilla/websocket"
	"github.com/jackc/pgx/v4"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), 60*time.Second)
	defer cancel()
	if len(os.Args) != 3 {
		fail(fmt.Errorf("usage: protocol call|batch|serve|query URL"))
	}
	var err error
	switch verb, where := os.Args[1], os.Args[2]; verb {
	case "call":
		err = call(ctx, where)
	case "batch":
		err = batch(ctx, where)
	case "serve":
		err = serve(where)
	case "query":
		err = query(ctx, where)
	default:
		err = fmt.Errorf("unknown: %s", verb)
	}
	if err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

// call asks for a block number by HTTP or WebSocket, by the URL's scheme, three times on one
// connection.
func call(ctx context.Context, url string) error {
	client, err := rpc.DialContext(ctx, url)
	if err != nil {
		return err
	}
	defer client.Close()
	for i := 0; i < 3; i++ {
		var number string
		if err := client.CallContext(ctx, &number, "eth_blockNumber"); err != nil {
			return err
		}
		fmt.Println(number)
	}
	return nil
}

// batch asks for a block number twice and calls a method that nobody has, in one request.
func batch(ctx context.Context, url string) error {
	client, err := rpc.DialContext(ctx, url)
	if err != nil {
		return err
	}
	defer client.Close()
	results := make([]string, 3)
	calls := make([]rpc.BatchElem, 3)
	for i, method := range []string{"eth_blockNumber", "eth_blockNumber", "eth_nobodyHasThis"} {
		calls[i] = rpc.BatchElem{Method: method, Result: &results[i]}
	}
	if err := client.BatchCallContext(ctx, calls); err != nil {
		return err
	}
	for i := range calls {
		if calls[i].Error != nil {
			fmt.Println("error:", calls[i].Error)
			continue
		}
		fmt.Println(results[i])
	}
	return nil
}

// serve answers JSON-RPC on a WebSocket, as json-rpc does, until it is killed.
func serve(address string) error {
	listener, err := net.Listen("tcp", address)
	if err != nil {
		return err
	}
	fmt.Println(listener.Addr())
	upgrader := websocket.Upgrader{CheckOrigin: func(*http.Request) bool { return true }}
	return http.Serve(listener, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		socket, err := upgrader.Upgrade(w, r, nil)
		if err != nil {
			return
		}
		defer socket.Close()
		for {
			kind, message, err := socket.ReadMessage()
			if err != nil {
				return
			}
			var asked struct {
				ID     json.RawMessage `json:"id"`
				Method string          `json:"method"`
			}
			answer := []byte(`{"jsonrpc":"2.0","id":null,"error":{"code":-32700,"message":"no JSON"}}`)
			if json.Unmarshal(message, &asked) == nil {
				answer = []byte(fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"result":"0x10"}`, asked.ID))
			}
			if socket.WriteMessage(kind, answer) != nil {
				return
			}
		}
	}))
}

// query logs in and says whether the connection is encrypted.
func query(ctx context.Context, url string) error {
	connection, err := pgx.Connect(ctx, url)
	if err != nil {
		return err
	}
	defer connection.Close(ctx)
	var user string
	var encrypted bool
	const sql = "SELECT usename, ssl FROM pg_stat_ssl JOIN pg_stat_activity USING (pid) WHERE pid = pg_backend_pid()"
	if err := connection.QueryRow(ctx, sql).Scan(&user, &encrypted); err != nil {
		return err
	}
	fmt.Printf("%s, encrypted: %t\n", user, encrypted)
	return nil
}
