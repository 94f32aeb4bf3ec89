package eventing

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/outbox"
	"github.com/settee-db/settee/eventing/registry"
)

// TestMessagesOfARefusedOwner: what the validation function of the destination refuses, and what the
// owner may not write any more, is a dead letter at once, with the reason; the handler has succeeded.
func TestMessagesOfARefusedOwner(t *testing.T) {
	n := newAlone(t, "src", "dst")
	p := &people{roles: map[string][]string{"eve": {}}}
	n.engine.rights = p.rights
	n.put("dst", "_design/v", `{"validate_doc_update":"function (doc) { if (doc.bad) throw {forbidden: 'not that'}; }"}`)
	n.secure("src", `{"names":["eve"]}`)
	n.secure("dst", `{"names":["eve"]}`)
	n.define("f", `function OnUpdate(doc, meta) { publish(dst, doc, {id: meta.id}); }`, "", "+dst=dst")
	n.deployAs(registry.Principal{Name: "eve", Roles: []string{}})
	n.put("src", "wrong", `{"bad":true}`)
	n.eventually(func() bool { return len(n.letters()) == 1 }, "no dead letter of what is refused")
	letter := n.letters()[0]
	require.Equal(t, 403, letter.Status)
	require.Equal(t, "not that", letter.Error)
	require.Equal(t, 1, letter.Attempts)
	n.secure("dst", `{"names":["other"]}`)
	// Batches that have looked at the rights go on with them for a second, and their messages may come through.
	n.eventually(func() bool {
		n.put("src", "later", `{"at":"`+time.Now().String()+`"}`)
		return len(n.letters()) > 1
	}, "no dead letter of what the owner may not")
	require.Equal(t, 403, n.letters()[1].Status)
	require.Empty(t, n.get("dst", "wrong"))
	require.Zero(t, n.stat("f", "on_update_failure"))
}

// TestMessagesOfAnOwnerWhoIsGone: the function is paused, its messages wait, and are delivered when
// somebody else has resumed it.
func TestMessagesOfAnOwnerWhoIsGone(t *testing.T) {
	var well sync.Mutex
	up := false
	hook := newReceiver(t, func(string, string, int) int {
		well.Lock()
		defer well.Unlock()
		if up {
			return 200
		}
		return 503
	})
	n := newAlone(t, "src", "dst")
	p := &people{roles: map[string][]string{"root": {"_admin"}}}
	n.engine.rights = p.rights
	n.defineCurl(publishing, hook.URL, `{"publish_max_attempts":1000}`)
	n.put("src", "a", `{"value":{"n":1}}`)
	n.eventually(func() bool { return hook.tried("a") > 0 }, "it is not tried")
	p.remove("root")
	require.Equal(t, "its owner root is not there any more", n.stopped())
	require.EqualValues(t, 1, n.sizes().Waiting)
	require.Empty(t, n.letters())
	well.Lock()
	up = true
	well.Unlock()
	n.ask("f", func(ctx context.Context, r *registry.Record) (*registry.Record, error) {
		ann := registry.Principal{Name: "ann", Roles: []string{"_admin"}, External: true}
		return n.engine.Registry().Deploy(ctx, r, ann, nil)
	})
	n.eventually(func() bool { return n.sizes() == outbox.Sizes{} }, "it is not delivered")
	require.Equal(t, []string{`{"n":1}`}, hook.all("a"))
	require.Empty(t, n.checked())
}

// TestMessagesToASilentServer: an attempt without an answer ends after its time, counts as one that
// has failed, and is made again; other messages go on meanwhile.
func TestMessagesToASilentServer(t *testing.T) {
	require.Equal(t, 30*time.Second, deliveryTime)
	var mu sync.Mutex
	attempts := make(map[string]int)
	hook := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := r.Header.Get("Idempotency-Key")
		mu.Lock()
		attempts[key]++
		silent := key == "silent" && attempts[key] < 3
		mu.Unlock()
		if silent {
			_, _ = io.Copy(io.Discard, r.Body) // without that net/http does not notice who goes
			<-r.Context().Done()               // until the client has had enough
		}
	}))
	t.Cleanup(hook.Close)
	n := newAlone(t, "src", "dst")
	n.engine.deliverIn = 100 * time.Millisecond
	n.defineCurl(publishing, hook.URL, `{}`)
	n.put("src", "silent", `{"value":{"n":1}}`)
	n.put("src", "other", `{"value":{"n":2}}`)
	n.eventually(func() bool { return n.stat("f", messagesDelivered) == 2 }, "not all are delivered")
	require.Zero(t, n.sizes())
	mu.Lock()
	defer mu.Unlock()
	require.GreaterOrEqual(t, attempts["silent"], 3)
	require.GreaterOrEqual(t, n.stat("f", messagesRetried), int64(2))
}
