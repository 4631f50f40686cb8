package main

import (
	"fmt"
	"net"
	"time"
)

// settings is an empty SETTINGS frame of HTTP/2: the first bytes of a gRPC server.
var settings = []byte{0, 0, 0, 4, 0, 0, 0, 0, 0}

// listen accepts connections and starts each like a gRPC server; no call is ever answered. It returns when the port is open.
func listen(what string, port int) {
	listener, err := net.Listen("tcp", fmt.Sprintf(":%d", port))
	if err != nil {
		fail(fmt.Errorf("%s: %w", what, err))
	}
	fmt.Printf("%s listening on 0.0.0.0:%d\n", what, port)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				fail(fmt.Errorf("%s: %w", what, err))
			}
			go greet(connection)
		}
	}()
}

func greet(connection net.Conn) {
	defer connection.Close()
	if _, err := connection.Write(settings); err != nil {
		return
	}
	// Until the caller disconnects; its requests are ignored.
	ignored := make([]byte, 1024)
	for connection.SetReadDeadline(time.Now().Add(time.Minute)) == nil {
		if _, err := connection.Read(ignored); err != nil {
			return
		}
	}
}
