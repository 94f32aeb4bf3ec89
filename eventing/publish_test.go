package eventing

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/settee-db/settee/eventing/definition"
	"github.com/settee-db/settee/eventing/outbox"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/kv/faultkv"
	"github.com/settee-db/settee/storage/kv/memkv"
)

// receiver is a server that messages are posted to. It answers what says tells, and keeps what it has
// accepted.
type receiver struct {
	*httptest.Server
	mu       sync.Mutex
	says     func(key, body string, attempt int) int
	attempts map[string]int      // by Idempotency-Key
	accepted map[string][]string // bodies by Idempotency-Key
	headers  http.Header         // of the last one
}

func newReceiver(t testing.TB, says func(key, body string, attempt int) int) *receiver {
	r := &receiver{says: says, attempts: make(map[string]int), accepted: make(map[string][]string)}
	r.Server = httptest.NewServer(r)
	t.Cleanup(r.Close)
	return r
}

// ServeHTTP implements http.Handler.
func (r *receiver) ServeHTTP(w http.ResponseWriter, request *http.Request) {
	body, _ := io.ReadAll(request.Body)
	key := request.Header.Get("Idempotency-Key")
	r.mu.Lock()
	defer r.mu.Unlock()
	r.attempts[key]++
	status := r.says(key, string(body), r.attempts[key])
	if status/100 == 2 {
		r.accepted[key] = append(r.accepted[key], string(body))
	}
	r.headers = request.Header.Clone()
	w.WriteHeader(status)
	fmt.Fprintf(w, "this is answer %d", r.attempts[key])
}

// all gives what was accepted under a key.
func (r *receiver) all(key string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.accepted[key]
}

func (r *receiver) tried(key string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.attempts[key]
}

// sizes tells how much is in the outbox of f.
func (n *node) sizes() outbox.Sizes {
	n.t.Helper()
	r, err := n.engine.Registry().Get(n.t.Context(), refOf("f"))
	require.NoError(n.t, err)
	sizes, err := n.engine.Outbox(n.t.Context(), r)
	require.NoError(n.t, err)
	return sizes
}

// letters are the dead letters of f.
func (n *node) letters() (list []outbox.Letter) {
	n.t.Helper()
	r, err := n.engine.Registry().Get(n.t.Context(), refOf("f"))
	require.NoError(n.t, err)
	for behind, more := "", true; more; {
		all, err := n.engine.DeadLetters(n.t.Context(), r, behind, "", 1000)
		require.NoError(n.t, err)
		list = append(list, all.Letters...)
		behind, more = all.Next, all.Next != ""
	}
	return list
}

const publishing = `
function OnUpdate(doc, meta) {
	publish(doc.to === "dst" ? dst : api, doc.value, {id: meta.id, headers: {"X-Kind": "test"}});
	if (doc.fails) throw new Error("no");
}`

// TestPublish: what a handler publishes is posted, or stored as a document; nothing of a handler that
// fails. What is refused once is tried again, what is refused for good is a dead letter.
func TestPublish(t *testing.T) {
	hook := newReceiver(t, func(key, _ string, attempt int) int {
		switch {
		case key == "wrong":
			return 400
		case key == "later" && attempt < 4:
			return []int{0, 503, 429, 408}[attempt]
		}
		return 202
	})
	n := newAlone(t, "src", "dst")
	n.defineCurl(publishing, hook.URL, `{}`)
	n.put("src", "a", `{"value":{"n":1}}`)
	n.put("src", "text", `{"value":"some text"}`)
	n.put("src", "fails", `{"value":{"n":2},"fails":true}`)
	n.put("src", "later", `{"value":[1]}`)
	n.put("src", "wrong", `{"value":{"n":3}}`)
	n.put("src", "doc", `{"to":"dst","value":{"n":4,"_id":"x"}}`)
	n.becomes("dst", "doc", `{"n":4}`)
	n.eventually(func() bool { return n.sizes().Waiting == 0 && len(n.letters()) == 1 }, "not all are delivered")
	require.Equal(t, []string{`{"n":1}`}, hook.all("a"))
	require.Equal(t, []string{`some text`}, hook.all("text"))
	require.Equal(t, []string{`[1]`}, hook.all("later"))
	require.Equal(t, 4, hook.tried("later"))
	require.Zero(t, hook.tried("fails"))
	require.Equal(t, 1, hook.tried("wrong"))
	require.Equal(t, "test", hook.headers.Get("X-Kind"))
	letter := n.letters()[0]
	require.Equal(t, "api", letter.Destination)
	require.Equal(t, 400, letter.Status)
	require.Equal(t, "this is answer 1", letter.Error)
	require.EqualValues(t, 5, n.stat("f", messagesPublished))
	require.EqualValues(t, 4, n.stat("f", messagesDelivered))
	require.EqualValues(t, 3, n.stat("f", messagesRetried))
	require.EqualValues(t, 1, n.stat("f", messagesDead))
	require.Empty(t, n.checked())
}

// TestMessagesEnd: a message that is not accepted is tried as often as its function wants it, or for as
// long, and is a dead letter then. One that is replayed begins anew, with its key.
func TestMessagesEnd(t *testing.T) {
	for name, settings := range map[string]string{
		"attempts": `{"publish_max_attempts":3}`, "age": `{"publish_max_age":1,"publish_max_attempts":1000}`,
	} {
		t.Run(name, func(t *testing.T) {
			var well atomic.Bool
			hook := newReceiver(t, func(_, body string, _ int) int {
				if well.Load() && !strings.Contains(body, "bad") {
					return 200
				}
				return 500
			})
			n := newAlone(t, "src", "dst")
			n.defineCurl(publishing, hook.URL, settings)
			n.put("src", "a", `{"value":{"n":1}}`)
			n.put("src", "b", `{"value":"bad"}`)
			n.eventually(func() bool { return len(n.letters()) == 2 }, "no dead letters")
			require.Zero(t, n.sizes().Waiting)
			for _, l := range n.letters() {
				require.Equal(t, 500, l.Status)
				if name == "attempts" {
					require.Equal(t, 3, l.Attempts)
				} else {
					require.Less(t, l.Attempts, 100)
				}
			}
			well.Store(true)
			r, err := n.engine.Registry().Get(t.Context(), refOf("f"))
			require.NoError(t, err)
			replayed, err := n.engine.ReplayDeadLetters(t.Context(), r, outbox.Choice{Destination: "api"})
			require.NoError(t, err)
			require.Equal(t, 2, replayed)
			n.eventually(func() bool { return n.sizes().Waiting == 0 && len(n.letters()) == 1 }, "no replay")
			require.Equal(t, []string{`{"n":1}`}, hook.all("a"))
			letter, err := n.engine.DeadLetter(t.Context(), r, n.letters()[0].ID)
			require.NoError(t, err)
			require.Equal(t, "b", letter.Key)
			require.Equal(t, `"bad"`, string(letter.Value))
			deleted, err := n.engine.DeleteDeadLetters(t.Context(), r, outbox.Choice{IDs: []string{letter.ID}})
			require.NoError(t, err)
			require.Equal(t, 1, deleted)
			require.Zero(t, n.sizes())
			require.Empty(t, n.checked())
		})
	}
}

// TestOutboxIsBounded: events wait while their messages have no room in the outbox, and go on when
// there is some; a message that is larger than the outbox fails its handler. Neither are more messages
// on their way than the function wants.
func TestOutboxIsBounded(t *testing.T) {
	open := make(chan struct{})
	var running, most atomic.Int64
	hook := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		for now := running.Add(1); ; {
			if before := most.Load(); now <= before || most.CompareAndSwap(before, now) {
				break
			}
		}
		<-open
		running.Add(-1)
	}))
	t.Cleanup(hook.Close)
	letGo := sync.OnceFunc(func() { close(open) })
	t.Cleanup(letGo)
	n := newAlone(t, "src", "dst")
	n.defineCurl(`
function OnUpdate(doc, meta) {
	for (let i = 0; i < doc.times; i++) publish(api, "x".repeat(doc.size));
	dst[meta.id] = {};
}`, hook.URL, `{"outbox_size":1,"publish_concurrency":2}`)
	const docs, size = 20, 200_000
	n.put("src", "large", `{"size":300000,"times":4}`)
	n.eventually(func() bool { return n.stat("f", "on_update_failure") == 1 }, "what has no room at all")
	for i := range docs {
		n.put("src", fmt.Sprint(i), fmt.Sprintf(`{"size":%d,"times":1}`, size))
	}
	n.eventually(func() bool { return strings.Contains(n.log("f"), "the outbox is full") }, "it is not told")
	sizes := n.sizes()
	require.LessOrEqual(t, sizes.Bytes, int64(1<<20))
	require.Positive(t, sizes.Waiting)
	require.Less(t, n.count("dst"), int64(docs))
	letGo()
	n.eventually(func() bool { return n.count("dst") == docs && n.sizes().Waiting == 0 }, "events wait still")
	require.LessOrEqual(t, most.Load(), int64(2))
	require.EqualValues(t, docs, n.stat("f", messagesDelivered))
}

// modelMessages publishes for each event to all kinds of destinations.
const modelMessages = `
function OnUpdate(doc, meta) {
	for (const how of ["ok", "once", "slow", "wrong", "never"]) {
		publish(api, {how: how, of: meta.id}, {id: how + ":" + meta.id + ":" + doc.v});
	}
	publish(dst, {of: meta.id}, {id: "doc:" + meta.id + ":" + doc.v});
	dst["log:" + meta.id + ":" + doc.v] = {};
}`

// TestMessagesSurvive: random changes while the function is paused and resumed, and moves between
// processes that end or die, and commits are made again. In the end each message that was published has
// been accepted at least once or is a dead letter, none is both, none is left; documents were written
// exactly once.
func TestMessagesSurvive(t *testing.T) {
	hook := newReceiver(t, func(key, _ string, attempt int) int {
		switch how, _, _ := strings.Cut(key, ":"); {
		case how == "wrong":
			return 410
		case how == "never", how == "once" && attempt == 1:
			return 503
		}
		return 200
	})
	const lease = 500 * time.Millisecond
	store := faultkv.New(memkv.New(), faultkv.Random(3, faultkv.Rates{
		Conflict: 0.02, UnknownAborted: 0.01, UnknownCommitted: 0.01,
	}))
	keeper := newNode(t, store, lease)
	keeper.create("src", "dst")
	keeper.defineCurl(modelMessages, hook.URL, `{"publish_max_attempts":3}`)
	ctx, cancel := context.WithTimeout(t.Context(), shorter(4*time.Second, 2*time.Second))
	defer cancel()
	var all sync.WaitGroup
	all.Go(func() {
		for i := 0; ctx.Err() == nil; i++ {
			keeper.put("src", fmt.Sprint("doc-", i%20), fmt.Sprintf(`{"v":%d}`, i))
			time.Sleep(5 * time.Millisecond)
		}
	})
	all.Go(func() {
		random := rand.New(rand.NewPCG(5, 1))
		for ctx.Err() == nil {
			m := &mortal{Store: store}
			n := newNode(t, m, lease)
			time.Sleep(time.Duration(100+random.IntN(400)) * time.Millisecond)
			m.dead.Store(random.IntN(2) == 0)
			n.close()
			if random.IntN(3) == 0 && keeper.pause("f") == definition.Paused {
				keeper.deploy("f")
			}
		}
	})
	all.Wait()
	keeper.put("src", "end", `{"v":0}`)
	keeper.eventually(func() bool {
		return keeper.get("dst", "log:end:0") != "" && keeper.sizes().Waiting == 0
	}, "not all is done")
	require.Empty(t, keeper.checked())
	dead := make(map[string]bool)
	r, err := keeper.engine.Registry().Get(t.Context(), refOf("f"))
	require.NoError(t, err)
	for _, l := range keeper.letters() {
		letter, err := keeper.engine.DeadLetter(t.Context(), r, l.ID)
		require.NoError(t, err)
		dead[letter.Key] = true
	}
	published := 0
	_, err = keeper.store.DB("dst").Feed().Changes(t.Context(), storage.ChangesOptions{Limit: -1},
		func(ch *storage.Change) error {
			of, isLog := strings.CutPrefix(ch.ID, "log:")
			require.EqualValues(t, 1, ch.Revs[0].Pos, "%s was written twice", ch.ID)
			if !isLog {
				return nil
			}
			published++
			require.NotEmpty(t, keeper.get("dst", "doc:"+of), of)
			for _, how := range []string{"ok", "once", "slow", "wrong", "never"} {
				key := how + ":" + of
				require.Equal(t, how == "wrong" || how == "never", dead[key], key)
				require.Equal(t, !dead[key], len(hook.all(key)) > 0, key)
				delete(dead, key)
			}
			return nil
		})
	require.NoError(t, err)
	require.Empty(t, dead, "dead letters of what was not published")
	require.Positive(t, published)
	keeper.undeploy("f")
	require.Empty(t, keeper.checked())
}
