package main

import (
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"os/signal"
	"sync"
	"syscall"
	"time"
)

// service is one external service. While it is stopped its port is closed.
type service interface {
	start() error
	stop()
}

// listener is a service that this program implements.
type listener struct {
	name    string
	address string
	handler http.Handler
	mutex   sync.Mutex
	server  *http.Server
}

func (l *listener) start() error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.server != nil {
		return nil
	}
	socket, err := net.Listen("tcp", l.address)
	if err != nil {
		return err
	}
	l.server = &http.Server{Handler: l.handler}
	go func(server *http.Server) { _ = server.Serve(socket) }(l.server)
	fmt.Printf("%s listens on %s\n", l.name, l.address)
	return nil
}

func (l *listener) stop() {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.server != nil {
		l.server.Close()
		l.server = nil
		fmt.Println(l.name, "stopped")
	}
}

// program is a service that another program implements; it is started again when it ends.
type program struct {
	name    string
	command []string
	mutex   sync.Mutex
	running *exec.Cmd
	wanted  bool
}

func (p *program) start() error {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.wanted = true
	return p.launch()
}

// launch is called with the mutex held.
func (p *program) launch() error {
	if p.running != nil {
		return nil
	}
	command := exec.Command(p.command[0], p.command[1:]...)
	command.Stdout, command.Stderr = os.Stdout, os.Stderr
	if err := command.Start(); err != nil {
		return err
	}
	p.running = command
	fmt.Println(p.name, "runs")
	go func() {
		ended := command.Wait()
		p.mutex.Lock()
		p.running = nil
		wanted := p.wanted
		p.mutex.Unlock()
		if !wanted {
			return
		}
		fmt.Printf("%s ended (%v), starting it again\n", p.name, ended)
		time.Sleep(time.Second)
		p.mutex.Lock()
		defer p.mutex.Unlock()
		if !p.wanted {
			return
		}
		if err := p.launch(); err != nil {
			fmt.Println(p.name, err)
		}
	}()
	return nil
}

func (p *program) stop() {
	p.mutex.Lock()
	defer p.mutex.Unlock()
	p.wanted = false
	if p.running != nil {
		_ = p.running.Process.Signal(syscall.SIGTERM)
		fmt.Println(p.name, "stopped")
	}
}

const chainFile = "/srv/lab/chain.json"

// serve runs all services until it receives a signal.
func serve() error {
	trusted, err := newSequencer(chainFile)
	if err != nil {
		return err
	}
	files := &fileServer{}
	first := newLayer1()
	first.fork(0)
	failures := map[string]*failing{"sequencer": {server: trusted.handler()}, "layer1": {server: first.handler()}}
	services := map[string]service{
		"files":     &listener{name: "files", address: ":8080", handler: files.handler()},
		"alerts":    &listener{name: "alerts", address: ":8081", handler: alertSink()},
		"sequencer": &listener{name: "sequencer", address: ":8545", handler: failures["sequencer"]},
		"layer1":    &listener{name: "layer1", address: ":8546", handler: failures["layer1"]},
		"registry":  &program{name: "registry", command: []string{"docker-registry", "serve", "/etc/lab/registry.yml"}},
		// A killed container leaves a file whose process number another program has after its next start.
		"time":     &program{name: "time", command: []string{"sh", "-c", "rm -f /run/chronyd.pid; exec chronyd -x -d -f /etc/lab/chrony.conf"}},
		"packages": &program{name: "packages", command: []string{"/usr/local/lib/lab/package-cache"}},
	}
	for name, one := range services {
		if err := one.start(); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	switches := &listener{name: "control", address: ":8090", handler: control(services, servers{trusted, first, files, failures})}
	if err := switches.start(); err != nil {
		return err
	}
	end := make(chan os.Signal, 1)
	signal.Notify(end, syscall.SIGINT, syscall.SIGTERM)
	<-end
	for _, one := range services {
		one.stop()
	}
	return nil
}
