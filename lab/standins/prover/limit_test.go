package main

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
)

// asProver makes the test program the prover itself, in a process of its own.
const asProver = "PROVER_UNDER_TEST"

func TestMain(m *testing.M) {
	if os.Getenv(asProver) != "" {
		main()
		return
	}
	os.Exit(m.Run())
}

// databaseServer lets everybody in, and answers no statement. @returns its port
func databaseServer(t *testing.T) int {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			connection, err := listener.Accept()
			if err != nil {
				return
			}
			go letIn(connection)
		}
	}()
	return listener.Addr().(*net.TCPAddr).Port
}

func letIn(connection net.Conn) {
	defer connection.Close()
	for {
		var length uint32
		if binary.Read(connection, binary.BigEndian, &length) != nil {
			return
		}
		message := make([]byte, length-4)
		if _, err := io.ReadFull(connection, message); err != nil {
			return
		}
		// A request for TLS or GSS; anything else is the start itself.
		if length == 8 {
			_, _ = connection.Write([]byte("N"))
			continue
		}
		_, _ = connection.Write([]byte{'R', 0, 0, 0, 8, 0, 0, 0, 0, 'Z', 0, 0, 0, 5, 'I'})
		break
	}
	_, _ = io.Copy(io.Discard, connection)
}

// startProver starts the prover with limits of open files, soft and hard, as an engine gives them to a container.
func startProver(t *testing.T, soft, hard, connections int) *exec.Cmd {
	t.Helper()
	path := filepath.Join(t.TempDir(), "config.json")
	text := fmt.Sprintf(`{"databaseURL": "postgresql://p:secret@localhost:%d/db", "dbNumberOfPoolConnections": %d}`, databaseServer(t), connections)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	limited := fmt.Sprintf(`ulimit -S -n %d && ulimit -H -n %d && exec "$0" -c "$1"`, soft, hard)
	command := exec.Command("sh", "-c", limited, os.Args[0], path)
	command.Env = append(os.Environ(), asProver+"=1", flagsVariable+"=avx2 bmi2 adx")
	return command
}

func TestWithALimitOf1024ItEndsAtItsStartWithTheWordsOfLibpq(t *testing.T) {
	// A higher hard limit does not help: it is not raised. So are containers of an engine with containerd 2.
	output, err := startProver(t, 1024, 4096, 2000).CombinedOutput()
	if err == nil || err.(*exec.ExitError).ExitCode() != 255 {
		t.Errorf("%v", err)
	}
	// Which call finds no file left depends on how many a connection needs for a moment.
	wanted := regexp.MustCompile(`"msg":"Database::initRemote\(\) exception: (could not translate host name|connection to server at ).*`)
	if found := wanted.Find(output); found == nil || strings.Contains(string(output), "secret") {
		t.Errorf("%s", output)
	} else {
		t.Logf("%s", found)
	}
	for _, words := range []string{`"msg":"CALL STACK"`, "Failed to get memory info", "MEMORY INFO", "printProcessInfo() failed to get process stat info"} {
		if !strings.Contains(string(output), words) {
			t.Errorf("no %s in %s", words, output)
		}
	}
}

func TestWithAHigherLimitItOpensAllConnectionsAndKeepsItsLimit(t *testing.T) {
	command := startProver(t, 2400, 4096, 2000)
	output, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = command.Wait() }()
	defer func() { _ = command.Process.Kill() }()
	seen := make([]byte, 0, 1024)
	for end := time.Now().Add(time.Minute); !strings.Contains(string(seen), "opened 2000 connections") && time.Now().Before(end); {
		part := make([]byte, 256)
		n, err := output.Read(part)
		if seen = append(seen, part[:n]...); err != nil {
			break
		}
	}
	if !strings.Contains(string(seen), "opened 2000 connections") {
		t.Errorf("%s", seen)
	}
	limits, _ := os.ReadFile(fmt.Sprintf("/proc/%d/limits", command.Process.Pid))
	if !regexp.MustCompile(`Max open files +2400 +4096`).Match(limits) {
		t.Errorf("%s", limits)
	}
}
