package main

import (
	"encoding/binary"
	"io"
	"net"
	"strings"
	"testing"
)

// No password may reach a log through an error that quotes the URL.
func TestUnsafePasswordBreaksTheURLAndStaysSecret(t *testing.T) {
	for _, password := range []string{"se/cret", "se#cret", "se%cret", "se cret", "se?cret"} {
		_, err := DBConfig{User: "u", Password: password, Host: "127.0.0.1", Port: "1", Name: "d"}.open()
		if err == nil || strings.Contains(err.Error(), "cret") {
			t.Errorf("%q: %v", password, err)
		}
	}
}

// As pgx does it: encryption is asked for first, and a server without it gets plain text.
func TestEncryptionIsPreferred(t *testing.T) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	first := make(chan string, 2)
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			head := make([]byte, 8)
			if _, err := io.ReadFull(connection, head); err == nil {
				// The numbers of PostgreSQL's protocol: a request for encryption, and version 3.0.
				first <- map[uint32]string{80877103: "encrypted", 196608: "plain"}[binary.BigEndian.Uint32(head[4:])]
				connection.Write([]byte("N"))
			}
			connection.Close()
		}
	}()
	_, port, _ := net.SplitHostPort(listener.Addr().String())
	if database, err := (DBConfig{User: "u", Password: "p", Host: "127.0.0.1", Port: port, Name: "d"}).open(); err == nil {
		database.Close()
		t.Fatal("a server that closes each connection was reached")
	}
	if one, two := <-first, <-first; one != "encrypted" || two != "plain" {
		t.Errorf("asked for %s, then for %s", one, two)
	}
}
