package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"
)

// Frames of HTTP/2, which carries gRPC, and their flags.
const (
	dataFrame     = 0
	headersFrame  = 1
	settingsFrame = 4
	pingFrame     = 6
	acknowledged  = 1
	endOfStream   = 1
	endOfHeaders  = 4
	preface       = "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
)

// refusal is the answer to every call: its headers without compression, status 200 and gRPC's UNIMPLEMENTED. The real program would
// compute; a call that is never answered would hang.
var refusal = append([]byte{0x88}, literal("content-type", "application/grpc", "grpc-status", "12", "grpc-message", "the stand-in computes nothing")...)

// literal encodes pairs of name and value.
func literal(texts ...string) (block []byte) {
	for i, text := range texts {
		if i%2 == 0 {
			block = append(block, 0)
		}
		block = append(append(block, byte(len(text))), text...)
	}
	return block
}

func frame(kind, flags byte, stream uint32, payload []byte) []byte {
	header := []byte{0, byte(len(payload) >> 8), byte(len(payload)), kind, flags, 0, 0, 0, 0}
	binary.BigEndian.PutUint32(header[5:], stream)
	return append(header, payload...)
}

// listen accepts connections and refuses each call on them. It returns when the port is open.
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

// greet speaks HTTP/2 until the caller disconnects or says nothing for a minute.
func greet(connection net.Conn) {
	defer connection.Close()
	if _, err := connection.Write(frame(settingsFrame, 0, 0, nil)); err != nil {
		return
	}
	start := make([]byte, len(preface))
	if _, err := io.ReadFull(connection, start); err != nil || string(start) != preface {
		return
	}
	header := make([]byte, 9)
	for connection.SetReadDeadline(time.Now().Add(time.Minute)) == nil {
		if _, err := io.ReadFull(connection, header); err != nil {
			return
		}
		payload := make([]byte, int(header[0])<<16|int(header[1])<<8|int(header[2]))
		if _, err := io.ReadFull(connection, payload); err != nil {
			return
		}
		kind, flags, stream := header[3], header[4], binary.BigEndian.Uint32(header[5:])
		var answer []byte
		switch {
		case kind == settingsFrame && flags&acknowledged == 0:
			answer = frame(settingsFrame, acknowledged, 0, nil)
		case kind == pingFrame && flags&acknowledged == 0:
			answer = frame(pingFrame, acknowledged, 0, payload)
		case (kind == headersFrame || kind == dataFrame) && flags&endOfStream != 0:
			answer = frame(headersFrame, endOfHeaders|endOfStream, stream, refusal)
		}
		if answer == nil {
			continue
		}
		if _, err := connection.Write(answer); err != nil {
			return
		}
	}
}
