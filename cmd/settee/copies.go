package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/settee-db/settee/storage/kv"
)

// A store of the embedded engine belongs to one process. Others on the machine, "settee check" and
// "settee backup --physical", ask that one for a copy of it as it is now, over a socket in the data
// directory: who may write there may connect. The copy is there for as long as the connection is,
// so that a process that dies leaves nothing behind.

const (
	// copySocket is the socket's name in the data directory.
	copySocket = "settee.sock"
	// copyPattern matches the directories with copies in the data directory.
	copyPattern = ".settee-copy-*"
	// copyRequest is what is sent to ask for a copy; the answer is a copyAnswer.
	copyRequest = "copy\n"
	// copyPatience is how long a process that has connected may take to ask.
	copyPatience = 10 * time.Second
)

// copyAnswer tells where a copy is: a data directory in the data directory.
type copyAnswer struct {
	Directory string `json:"directory,omitempty"`
	Error     string `json:"error,omitempty"`
}

// copier is an engine that makes copies of its store.
type copier interface {
	Checkpoint(ctx context.Context, to string) error
}

// copies answers those who ask for copies.
type copies struct {
	engine   copier
	dir      string // the data directory
	listener net.Listener
	running  sync.WaitGroup
	end      context.CancelFunc
}

// offerCopies answers those who ask for copies of the store in a data directory until close, which
// the result is for. Where it cannot, the log says so, and the server does without.
func offerCopies(store kv.Store, dir string, log *slog.Logger) *copies {
	engine, ok := store.(copier)
	if !ok {
		return nil
	}
	removeCopies(dir) // copies that a killed server has left
	path := filepath.Join(dir, copySocket)
	_ = os.Remove(path) // a socket that it has left; nobody else has the store open
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "unix", path)
	if err == nil {
		err = os.Chmod(path, 0o600)
	}
	if err != nil {
		log.Warn("the store cannot be checked or copied while the server runs", "error", err)
		if listener != nil {
			_ = listener.Close()
		}
		return nil
	}
	ctx, end := context.WithCancel(context.Background())
	c := &copies{engine: engine, dir: dir, listener: listener, end: end}
	c.running.Go(func() { c.accept(ctx) })
	return c
}

// close ends all copies.
func (c *copies) close() {
	if c == nil {
		return
	}
	c.end()
	_ = c.listener.Close()
	c.running.Wait()
}

// accept takes requests until the listener is closed. A client that goes away, or the server's end,
// breaks a copy off.
func (c *copies) accept(ctx context.Context) {
	for {
		conn, err := c.listener.Accept()
		if err != nil {
			return
		}
		c.running.Go(func() {
			defer conn.Close()
			defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
			c.answer(ctx, conn)
		})
	}
}

// answer makes a copy for one who asks, and keeps it while the connection is open.
func (c *copies) answer(ctx context.Context, conn net.Conn) {
	_ = conn.SetReadDeadline(time.Now().Add(copyPatience))
	if line, err := bufio.NewReaderSize(conn, 64).ReadString('\n'); err != nil || line != copyRequest {
		return
	}
	_ = conn.SetReadDeadline(time.Time{})
	copied, err := makeCopy(ctx, c.engine, c.dir)
	if err != nil {
		_ = json.NewEncoder(conn).Encode(copyAnswer{Error: err.Error()})
		return
	}
	defer func() { _ = os.RemoveAll(copied) }() // the next start removes what stays
	if json.NewEncoder(conn).Encode(copyAnswer{Directory: filepath.Base(copied)}) == nil {
		_, _ = io.Copy(io.Discard, conn) // until it is closed
	}
}

// makeCopy makes a data directory with a copy of the store, in the data directory: on the same
// volume, so that tables are linked.
func makeCopy(ctx context.Context, engine copier, dir string) (copied string, err error) {
	if copied, err = os.MkdirTemp(dir, copyPattern); err != nil {
		return "", err
	}
	if err = engine.Checkpoint(ctx, filepath.Join(copied, storeDir)); err != nil {
		return "", errors.Join(err, os.RemoveAll(copied))
	}
	return copied, nil
}

// removeCopies removes what is left of copies.
func removeCopies(dir string) {
	left, _ := filepath.Glob(filepath.Join(dir, copyPattern)) // the pattern is a good one
	for _, copied := range left {
		_ = os.RemoveAll(copied)
	}
}

// askForCopy asks the server that has the store of a data directory open for a copy: a data
// directory that is there until release.
func askForCopy(ctx context.Context, dir string) (copied string, release func(), err error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "unix", filepath.Join(dir, copySocket))
	if err != nil {
		return "", nil, fmt.Errorf("%w: %s; its server gives no copy: %w", kv.ErrLocked, dir, err)
	}
	defer func() {
		if err != nil {
			_ = conn.Close()
		}
	}()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	if _, err = io.WriteString(conn, copyRequest); err != nil {
		return "", nil, err
	}
	var a copyAnswer
	if err = json.NewDecoder(conn).Decode(&a); err != nil {
		return "", nil, fmt.Errorf("the server that has %s open: %w", dir, err)
	}
	if a.Error != "" {
		return "", nil, fmt.Errorf("the server that has %s open: %s", dir, a.Error)
	}
	return filepath.Join(dir, filepath.Base(a.Directory)), func() { _ = conn.Close() }, nil
}
