package wire

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestRefusedBodies: a client that sends the whole of a large body before it looks at the answer
// finds one, with TLS and without, though the handler has read nothing of the body.
func TestRefusedBodies(t *testing.T) {
	certificates := httptest.NewTLSServer(http.NotFoundHandler())
	defer certificates.Close()
	refuse := func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusRequestEntityTooLarge) }
	part := make([]byte, 1<<20)
	for name, secure := range map[string]bool{"plain": false, "TLS": true} {
		t.Run(name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			require.NoError(t, err)
			listener := Listen(l)
			if secure {
				config := certificates.TLS.Clone()
				config.NextProtos = nil
				listener = ListenTLS(l, config, time.Minute)
			}
			srv := &http.Server{Handler: http.HandlerFunc(refuse)}
			Configure(srv)
			go srv.Serve(listener)
			t.Cleanup(func() { srv.Close() })
			c, err := net.Dial("tcp", l.Addr().String())
			require.NoError(t, err)
			defer c.Close()
			if secure {
				c = tls.Client(c, &tls.Config{InsecureSkipVerify: true})
			}
			const parts = 64 // more than buffers on the way hold
			_, err = io.WriteString(c, "PUT /a HTTP/1.1\r\nHost: x\r\nContent-Length: 67108864\r\n\r\n")
			require.NoError(t, err)
			for range parts {
				_, err = c.Write(part)
				require.NoError(t, err)
			}
			answer, err := io.ReadAll(c)
			require.NoError(t, err)
			status, _, _ := strings.Cut(string(answer), "\r\n")
			require.Equal(t, "HTTP/1.1 413 Request Entity Too Large", status)
		})
	}
}

// TestLingerEnds: a client that goes on sending is not listened to for ever, nor one that says
// nothing.
func TestLingerEnds(t *testing.T) {
	for _, sends := range []bool{false, true} {
		client, server := net.Pipe()
		sent := make(chan struct{})
		go func() {
			defer close(sent)
			for sends {
				if _, err := client.Write([]byte("x")); err != nil {
					return
				}
			}
		}()
		require.Error(t, Linger(server, 50*time.Millisecond, 20*time.Millisecond))
		server.Close()
		<-sent
		client.Close()
	}
}
