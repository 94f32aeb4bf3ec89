package conformance

import (
	"io"
	"net"
	"sync"
	"sync/atomic"
	"testing"
)

// balancer is an address whose connections go to some servers in turn, as through a load balancer,
// for the time of the test. Requests of scenarios have a connection each.
func balancer(t *testing.T, servers ...*Server) (addr string) {
	t.Helper()
	if len(servers) == 1 {
		return servers[0].Addr
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var passing sync.WaitGroup
	var next atomic.Int64
	passing.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			to := servers[int(next.Add(1))%len(servers)].Addr
			passing.Go(func() { passOn(client, to) })
		}
	})
	t.Cleanup(func() {
		listener.Close()
		passing.Wait()
	})
	return listener.Addr().String()
}

// passOn copies what comes on a connection to a server, and what that answers back, until both have
// ended.
func passOn(client net.Conn, to string) {
	defer client.Close()
	server, err := net.Dial("tcp", to)
	if err != nil {
		return
	}
	defer server.Close()
	var there sync.WaitGroup
	there.Go(func() {
		_, _ = io.Copy(server, client)
		_ = server.(*net.TCPConn).CloseWrite() // fails where the server has closed
	})
	_, _ = io.Copy(client, server)
	_ = client.(*net.TCPConn).CloseWrite()
	there.Wait()
}
