package js

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime"
	"runtime/debug"
	live "runtime/metrics"
	"time"

	lru "github.com/hashicorp/golang-lru/v2"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/js/confine"
	"github.com/settee-db/settee/js/locale"
	"github.com/settee-db/settee/js/script"
)

// command says what a call wants.
type command byte

// handler runs a call in the worker. Its result goes to the caller; an error that is no
// *compat.Error ends the worker.
type handler func(w *worker, payload []byte) ([]byte, error)

// handlers has the entry of every command; files with commands add theirs in init of the table, see
// commands.go.
var handlers = commandTable()

// worker is the state of a worker process. It runs one call at a time.
type worker struct {
	requests       chan frame
	out            *bufio.Writer
	compiler       *script.Compiler
	kept           *lru.Cache[digest, any] // what commands keep under the digest of a source
	realms         *lru.Cache[digest, any] // functions with their realms, see realms.go
	memory         int64                   // bytes that the process may fill
	live           [1]live.Sample          // bytes that were in use when the collector ran last
	orders         locale.Orders
	spare          []*sandbox            // realms that are ready for any function
	warm           []*eventProgram       // those that have a realm, the last made last
	flushed        time.Time             // when the clock of the call started last
	logs           int                   // texts that the call has logged
	results        []byte                // room for the results of events
	stringBuilders script.StringBuilders // texts that the call appends to
}

// RunWorkerIfAsked turns this process into a JavaScript worker if it was started as one, and then
// does not return. main and TestMain of binaries that use a Pool call it before anything else.
func RunWorkerIfAsked() {
	confined, asked := confine.Asked()
	if !asked {
		return
	}
	confined.Apart()
	time.Local = time.UTC
	runtime.GOMAXPROCS(1)
	debug.SetGCPercent(400)
	// The soft bound makes the collector work before the hard one makes the process fail.
	memory := confined.Memory
	debug.SetMemoryLimit(memory / 4 * 3)
	debug.SetMaxStack(int(memory / 4))
	held, err := confined.Confine()
	if err != nil {
		fmt.Fprintln(os.Stderr, "js: confine:", err)
		os.Exit(2)
	}
	w := newWorker(os.Stdout)
	w.memory = memory
	go w.read(os.Stdin)
	if err := w.serve(held); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(2)
	}
	os.Exit(0)
}

// newWorker makes a worker that answers to out. The caches are bounded by numbers: 64
// decoded programs, keptRealms realms. An error of lru.New is only for a size below 1.
func newWorker(out io.Writer) *worker {
	kept, _ := lru.New[digest, any](64)
	realms, _ := lru.New[digest, any](keptRealms)
	return &worker{
		requests: make(chan frame),
		out:      bufio.NewWriterSize(out, 64<<10),
		compiler: script.NewCompiler(maxCallStack),
		kept:     kept,
		realms:   realms,
		memory:   defaultMemory,
		live:     [1]live.Sample{{Name: "/gc/heap/live:bytes"}},
	}
}

// read passes on the frames of the server. When it is gone, the worker goes too, even out of an
// endless loop.
func (w *worker) read(in io.Reader) {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		f, err := readFrame(r)
		if err != nil {
			os.Exit(0)
		}
		w.requests <- f
	}
}

// serve answers calls until something breaks. It says first what confines the process.
func (w *worker) serve(held string) error {
	if err := w.post(frameHello, []byte(held)); err != nil {
		return err
	}
	for {
		f := w.next()
		if f.kind == frameStop {
			continue // it came when the call had ended
		}
		if f.kind != frameCall || len(f.payload) == 0 {
			return errFrame
		}
		handle := handlers[command(f.payload[0])]
		if handle == nil {
			return fmt.Errorf("js: unknown command %d", f.payload[0])
		}
		w.flushed, w.logs, w.stringBuilders = time.Now(), 0, script.StringBuilders{}
		w.dropCrowdedRealms()
		result, err := handle(w, f.payload[1:])
		kind := frameResult
		if err != nil {
			e, ok := compat.AsError(err)
			if !ok {
				return err
			}
			kind, result = frameFail, encodeError(e)
		}
		if err := w.post(kind, result); err != nil {
			return err
		}
	}
}

// spareSandboxes is the number of realms that are made in advance: their making takes longer than
// many a call.
const spareSandboxes = 4

// next waits for a request, and makes realms in advance meanwhile.
func (w *worker) next() frame {
	for len(w.spare) < spareSandboxes {
		select {
		case f := <-w.requests:
			return f
		default:
		}
		s, err := w.bareSandbox()
		if err != nil {
			break
		}
		w.spare = append(w.spare, s)
	}
	return <-w.requests
}

// post sends a frame at once.
func (w *worker) post(kind frameKind, payload []byte) error {
	if err := writeFrame(w.out, kind, payload); err != nil {
		return err
	}
	return w.out.Flush()
}

// chunk sends a part of the result, which restarts the time that the call may take.
func (w *worker) chunk(payload []byte) error {
	w.flushed = time.Now()
	return w.post(frameChunk, payload)
}

// due tells that a chunk should be sent now, so that the time for the next document starts anew.
func (w *worker) due() bool { return time.Since(w.flushed) > slack/2 }

// ask sends a question to the caller and waits for the answer.
func (w *worker) ask(payload []byte) ([]byte, error) { return w.question(frameAsk, payload) }

// source gets the text with this digest from the caller.
func (w *worker) source(key digest) ([]byte, error) {
	b, err := w.question(frameSource, key[:])
	if err == nil && digestOf(b) != key {
		err = errFrame
	}
	return b, err
}

func (w *worker) question(kind frameKind, payload []byte) ([]byte, error) {
	if err := w.post(kind, payload); err != nil {
		return nil, err
	}
	f := <-w.requests
	switch f.kind {
	case frameAnswer:
		return f.payload, nil
	case frameStop:
		return nil, errStopped
	}
	return nil, errFrame
}

// errStopped ends a call of which the caller wants no more.
var errStopped = errors.New("js: the call was stopped")

// stopped reports whether the caller wants no more of the call. It is asked only while no question
// is open.
func (w *worker) stopped() bool {
	select {
	case f := <-w.requests:
		return f.kind == frameStop
	default:
		return false
	}
}
