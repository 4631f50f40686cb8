package main

import (
	"bytes"
	"io"
	"net"
	"testing"
	"time"
)

func TestEveryCallIsRefusedAtOnce(t *testing.T) {
	caller, server := net.Pipe()
	go greet(server)
	_ = caller.SetDeadline(time.Now().Add(5 * time.Second))
	expect := func(wanted []byte) {
		t.Helper()
		got := make([]byte, len(wanted))
		if _, err := io.ReadFull(caller, got); err != nil || !bytes.Equal(got, wanted) {
			t.Fatalf("%v %q", err, got)
		}
	}
	expect(frame(settingsFrame, 0, 0, nil))
	_, _ = caller.Write(append([]byte(preface), frame(settingsFrame, 0, 0, nil)...))
	expect(frame(settingsFrame, acknowledged, 0, nil))
	_, _ = caller.Write(frame(headersFrame, endOfHeaders, 3, []byte{0x82}))
	_, _ = caller.Write(frame(dataFrame, endOfStream, 3, []byte("request")))
	expect(frame(headersFrame, endOfHeaders|endOfStream, 3, refusal))
}
