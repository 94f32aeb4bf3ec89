package server_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/memory"
	"github.com/settee-db/settee/server/servertest"
)

// upload opens a connection that announces a document of size bytes and sends the beginning of it.
func (p *pipes) upload(t *testing.T, target string, size int, begin string) net.Conn {
	client, server := net.Pipe()
	p.conns <- server
	_, err := fmt.Fprintf(
		client,
		"PUT %s HTTP/1.1\r\nHost: x\r\nAuthorization: Basic YWRtaW46c2VjcmV0\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s",
		target,
		size,
		begin,
	)
	require.NoError(t, err)
	return client
}

func answerStatus(t *testing.T, c net.Conn) int {
	a, err := http.ReadResponse(bufio.NewReader(c), nil)
	require.NoError(t, err)
	_, err = io.Copy(io.Discard, a.Body)
	require.NoError(t, err)
	return a.StatusCode
}

// A body that stops coming is cut off after chttpd/receive_timeout; one that comes slowly is taken
// as long as nobody waits for its memory.
func TestBodiesThatDoNotCome(t *testing.T) {
	document := `{"a":"` + strings.Repeat("x", 300_000) + `"}`
	for _, target := range []string{"/db/doc", "/db/doc/attachment"} {
		synctest.Test(t, func(t *testing.T) {
			servePipes(t, 0, func(_ *servertest.Server, p *pipes) {
				idle := p.upload(t, target, len(document), document[:100_000])
				begin := time.Now()
				answer, _ := io.ReadAll(idle)
				require.Equal(t, 5*time.Minute, time.Since(begin).Round(time.Second))
				if target == "/db/doc" {
					require.True(t, strings.HasPrefix(string(answer), "HTTP/1.1 503 "), string(answer))
				}

				slow := p.upload(t, target, len(document), document[:1])
				for sent := 1; sent < len(document); sent += 20_000 {
					time.Sleep(time.Minute)
					_, err := io.WriteString(slow, document[sent:min(len(document), sent+20_000)])
					require.NoError(t, err)
				}
				require.Equal(t, 201, answerStatus(t, slow))
				time.Sleep(10 * time.Minute) // the deadline of the body does not outlive it
			})
		})
	}
}

// Clients that send slowly do not keep memory that others wait for, be they many or of one user.
func TestSlowBodiesMakeRoom(t *testing.T) {
	for _, path := range []string{"/db/slow%d", "/db/slow%d/attachment"} {
		t.Run(path, func(t *testing.T) { slowBodiesMakeRoom(t, path, 1_900_000) })
		t.Run(path+" of which little has come", func(t *testing.T) { slowBodiesMakeRoom(t, path, 100_000) })
	}
}

func slowBodiesMakeRoom(t *testing.T, path string, sent int) {
	synctest.Test(t, func(t *testing.T) {
		servePipes(t, 0, func(s *servertest.Server, p *pipes) {
			s.Env().Bodies = memory.NewBodies(1, nil)
			const size = 1 << 20
			var slow []net.Conn
			for i := range 20 {
				c := p.upload(t, fmt.Sprintf(path, i), 2*size, "")
				slow = append(slow, c)
				go io.WriteString(c, strings.Repeat(" ", sent))
			}
			synctest.Wait()
			if usage := s.Env().Bodies.Usage(); sent > size {
				require.LessOrEqual(t, usage.Free, usage.Total/2, "the slow ones fill what nobody may have")
			}
			time.Sleep(memory.SlowAfter)
			begin := time.Now()
			require.Equal(t, 201, s.Do("PUT", "/db/large", `{"a":"`+strings.Repeat("x", 4*size)+`"}`).Code)
			require.Less(t, time.Since(begin), 9*time.Second)
			for _, c := range slow {
				require.NoError(t, c.Close())
			}
			synctest.Wait()
			total := s.Env().Bodies.Usage().Total
			require.Equal(t, memory.Usage{Total: total, Free: total}, s.Env().Bodies.Usage())
		})
	})
}

// Large bodies of one user that come together take memory in turn; none is refused because others
// have a part of it.
func TestLargeBodiesOfOneUserGoInTurn(t *testing.T) {
	const size = 3 << 20
	document := `{"a":"` + strings.Repeat("x", size) + `"}`
	for _, path := range []string{"/db/%d", "/db/%d/attachment"} {
		synctest.Test(t, func(t *testing.T) {
			servePipes(t, 0, func(s *servertest.Server, p *pipes) {
				s.Env().Bodies = memory.NewBodies(1, nil)
				var all sync.WaitGroup
				for i := range 12 {
					c := p.upload(t, fmt.Sprintf(path, i), len(document), document[:1000])
					all.Go(func() {
						for sent := 1000; sent < len(document); sent += size / 4 {
							if _, err := io.WriteString(c, document[sent:min(len(document), sent+size/4)]); err != nil {
								break
							}
							time.Sleep(10 * time.Millisecond)
						}
						require.Equal(t, 201, answerStatus(t, c))
						c.Close()
					})
				}
				all.Wait()
			})
		})
	}
}

// A head that is larger than all lines together may be is refused before it is in memory.
func TestLargeHeads(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		servePipes(t, 0, func(_ *servertest.Server, p *pipes) {
			client, server := net.Pipe()
			p.conns <- server
			go func() {
				io.WriteString(client, "GET / HTTP/1.1\r\nHost: x\r\n")
				for i := range 100 {
					if _, err := fmt.Fprintf(client, "X-%d: %s\r\n", i, strings.Repeat("x", 7000)); err != nil {
						return
					}
				}
			}()
			require.Equal(t, 400, answerStatus(t, client))
			client.Close()
		})
	})
}
