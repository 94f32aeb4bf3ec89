package eventing

import (
	"fmt"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/feed"
)

// underWay are the bytes of chunks that functions of the node have read and not done, and how many
// functions have any.
func (n *node) underWay() (bytes, functions int) {
	n.engine.mu.Lock()
	defer n.engine.mu.Unlock()
	for _, run := range n.engine.running {
		if run.f == nil {
			continue // it is being prepared
		}
		r, _ := run.f.now.get()
		if r == nil {
			continue
		}
		before := bytes
		r.mu.Lock()
		for _, c := range r.chunks {
			if c.left > 0 {
				bytes += c.size
			}
		}
		r.mu.Unlock()
		if bytes > before {
			functions++
		}
	}
	return bytes, functions
}

// TestStreamsShareMemory: of functions that have a lot to read and cannot store anything for now,
// each has read something, and all together not more than they may.
func TestStreamsShareMemory(t *testing.T) {
	const functions, docs, size, shared = 50, 300, 5 << 10, 2
	release := make(chan struct{})
	n := newHeld(t, func(*node) error {
		<-release
		return nil
	})
	letGo := sync.OnceFunc(func() { close(release) })
	t.Cleanup(letGo) // before the node is closed, which waits for what is held
	n.engine.places = make(chan struct{}, shared)
	text := strings.Repeat("x", size)
	for i := range docs {
		n.put("src", fmt.Sprint(i), fmt.Sprintf(`{"text":%q}`, text))
	}
	for i := range functions {
		name := fmt.Sprint("f", i)
		n.define(name, `function OnUpdate(doc, meta) { dst["`+name+`"] = {}; }`, "", "+dst=dst")
		n.deploy(name)
	}
	n.eventually(func() bool {
		_, reading := n.underWay()
		return reading == functions && len(n.engine.places) == shared
	}, "not all functions read")
	const margin = size + 1<<10 // the last document of a chunk, and what belongs to it
	bytes, _ := n.underWay()
	require.LessOrEqual(t, bytes, shared*(feed.SegmentBytes+margin)+functions*(leastChunk+margin))
	letGo()
	for i := range functions {
		n.eventually(func() bool { return n.stat(fmt.Sprint("f", i), "on_update_success") == docs }, "all events")
	}
	n.eventually(func() bool { return len(n.engine.places) == 0 }, "places are taken")
}

// TestFunctionsReadTogether: however many functions see a database, each of its changes is read
// once.
func TestFunctionsReadTogether(t *testing.T) {
	n := newAlone(t, "src", "dst")
	const functions, docs = 8, 1500
	for i := range functions {
		name := fmt.Sprint("f", i)
		n.define(name, `function OnUpdate(doc, meta) { dst["`+name+`:" + meta.id] = doc; }`, "", "+dst=dst")
		n.deploy(name)
	}
	n.put("src", "first", `{}`) // until there is something to do functions rest
	n.eventually(func() bool { return n.count("dst") == functions }, "a function does not read")
	before, _ := n.engine.streams.Usage()
	for i := range docs {
		n.put("src", fmt.Sprint(i), fmt.Sprintf(`{"n":%d}`, i))
	}
	n.eventually(func() bool { return n.count("dst") == functions*(docs+1) }, "not all were copied")
	rows, _ := n.engine.streams.Usage()
	require.EqualValues(t, docs, rows-before)
	n.eventually(func() bool {
		_, kept := n.engine.streams.Usage()
		return kept == 0
	}, "what all have read is kept")
}
