package main

import (
	"fmt"
	"io"
	"net"
	"time"
)

// proverWait is the time limit at start for the executor, and again for the hash database.
const proverWait = 120 * time.Second

const settingsFrame = 4

// checkProver tests a server: both sides start an HTTP/2 connection, as gRPC does, and the server's first frame has to
// be SETTINGS. So an open port alone, or another kind of server, does not count as a prover.
func checkProver(address string) error {
	connection, err := net.DialTimeout("tcp", address, 3*time.Second)
	if err != nil {
		return err
	}
	defer connection.Close()
	if err := connection.SetDeadline(time.Now().Add(3 * time.Second)); err != nil {
		return err
	}
	emptySettings := string([]byte{0, 0, 0, settingsFrame, 0, 0, 0, 0, 0})
	if _, err := io.WriteString(connection, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"+emptySettings); err != nil {
		return err
	}
	header := make([]byte, 9)
	if _, err := io.ReadFull(connection, header); err != nil {
		return fmt.Errorf("no answer: %w", err)
	}
	if header[3] != settingsFrame {
		return fmt.Errorf("%s does not speak gRPC", address)
	}
	return nil
}

// waitForProver returns the last error after the time limit.
func waitForProver(what, address string, wait time.Duration) error {
	log.info("waiting for %s at %s", what, address)
	for end := time.Now().Add(wait); ; time.Sleep(time.Second) {
		err := checkProver(address)
		if err == nil {
			log.info("%s at %s is ready", what, address)
			return nil
		}
		if time.Now().After(end) {
			return fmt.Errorf("%s at %s did not answer within %s: %w", what, address, wait, err)
		}
		log.debug("%s: %v", what, err)
	}
}
