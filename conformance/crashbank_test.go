package conformance

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

const (
	bankClients  = 6
	bankAccounts = 12 // in each database
)

// bankDBs are the databases of the accounts, and that of the transfers.
var bankDBs = []string{"bank-a", "bank-b", "bank-log"}

// TestCrashBank kills the server while clients move money between accounts of two databases, by atomic
// requests with patches that note each transfer in a third one. Who gets no answer sends the same
// request again, with its key, until it is answered. After each kill the accounts have the sum that
// they began with and what the transfers say, each of which is there once, and every acknowledged one
// is there.
func TestCrashBank(t *testing.T) {
	rounds := max(2, crashRounds(t))
	s, c, dir, seed, random := crashBegin(t)
	for _, db := range bankDBs {
		c.want(http.StatusCreated, c.do("PUT", "/"+db, ""))
	}
	for i := range bankAccounts {
		for _, db := range bankDBs[:2] {
			c.want(http.StatusCreated, c.do("PUT", fmt.Sprintf("/%s/%02d", db, i), `{"n":1000}`))
		}
	}
	work, stop := context.WithCancel(t.Context())
	defer stop()
	clients := make([]*bankClient, bankClients)
	var group sync.WaitGroup
	for i := range clients {
		w := &bankClient{name: fmt.Sprint(i), base: c.base, random: rand.New(rand.NewPCG(seed, uint64(i+1))),
			http: &http.Client{Transport: &http.Transport{}, Timeout: 30 * time.Second}}
		clients[i] = w
		group.Go(func() { w.run(work) })
	}
	acknowledged := func() (n int64) {
		for _, w := range clients {
			n += w.acknowledged.Load()
		}
		return n
	}
	for round := range rounds {
		enough := acknowledged() + bankClients
		time.Sleep(time.Duration(20+random.IntN(300)) * time.Millisecond)
		for end := time.Now().Add(20 * time.Second); acknowledged() < enough && time.Now().Before(end); {
			time.Sleep(time.Millisecond)
		}
		s.Kill()
		if round == rounds-1 {
			for _, w := range clients {
				w.last.Store(true)
			}
		}
		checkData(t, dir)
		if err := s.Restart(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	group.Wait()
	checkBank(t, c, clients)
	again := 0
	for _, w := range clients {
		again += w.again
	}
	t.Logf("%d kills, %d transfers, %d requests sent again", rounds, acknowledged(), again)
	if acknowledged() < int64(rounds)*bankClients {
		t.Error("hardly a transfer got through: the test shows nothing")
	}
}

// bankClient makes transfers, one after the other.
type bankClient struct {
	name         string
	base         string
	random       *rand.Rand
	http         *http.Client
	made         []int // what each transfer moved
	again        int   // requests that had to be sent again
	last         atomic.Bool
	acknowledged atomic.Int64
	failure      error
}

// run makes transfers until the last one of the last round is acknowledged.
func (w *bankClient) run(ctx context.Context) {
	defer w.http.CloseIdleConnections()
	for ctx.Err() == nil && !w.last.Load() {
		from, to, n := w.random.IntN(2), w.random.IntN(bankAccounts), 1+w.random.IntN(9)
		id := fmt.Sprintf("%s-%d", w.name, len(w.made))
		add := func(db string, account, n int) string {
			return fmt.Sprintf(`%q:{"docs":[{"_id":"%02d","_patch":[{"op":"increment","path":"/n","value":%d}]}]}`,
				db, account, n)
		}
		body := fmt.Sprintf(`{"dbs":{%s,%s,%q:{"docs":[{"_id":%q,"n":%d}]}}}`,
			add(bankDBs[from], w.random.IntN(bankAccounts), -n), add(bankDBs[1-from], to, n), bankDBs[2], id, n)
		w.made = append(w.made, n)
		for !w.send(ctx, id, body) {
			if ctx.Err() != nil || w.failure != nil {
				return
			}
			w.again++
			time.Sleep(5 * time.Millisecond)
		}
		w.acknowledged.Add(1)
	}
}

// send makes one request, and reports whether it was acknowledged. What is answered and no success is
// a failure, but for a server that does not know.
func (w *bankClient) send(ctx context.Context, key, body string) bool {
	r, err := http.NewRequestWithContext(ctx, "POST", w.base+"/_atomic", strings.NewReader(body))
	if err != nil {
		w.failure = err
		return false
	}
	r.SetBasicAuth(AdminName, AdminPassword)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("Idempotency-Key", key)
	answer, err := w.http.Do(r)
	if err != nil {
		return false
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	switch {
	case err != nil || answer.StatusCode == http.StatusServiceUnavailable:
	case answer.StatusCode == http.StatusCreated:
		return true
	default:
		w.failure = fmt.Errorf("transfer %s: %d %s", key, answer.StatusCode, text)
	}
	return false
}

// checkBank holds the accounts against the transfers.
func checkBank(t *testing.T, c *client, clients []*bankClient) {
	t.Helper()
	type list struct {
		Rows []struct {
			ID  string
			Doc struct {
				Rev string `json:"_rev"`
				N   int
			}
		}
	}
	sum, edits := 0, 0
	for _, db := range bankDBs[:2] {
		var accounts list
		c.decode(c.do("GET", "/"+db+"/_all_docs?include_docs=true", ""), &accounts)
		for _, row := range accounts.Rows {
			sum, edits = sum+row.Doc.N, edits+generation(row.Doc.Rev)-1
		}
	}
	if sum != 2*bankAccounts*1000 {
		t.Errorf("the accounts have %d together", sum)
	}
	var log list
	c.decode(c.do("GET", "/"+bankDBs[2]+"/_all_docs?include_docs=true", ""), &log)
	noted := make(map[string]int)
	for _, row := range log.Rows {
		noted[row.ID] = row.Doc.N
		if row.Doc.Rev[:2] != "1-" {
			t.Errorf("transfer %s was made more than once: %s", row.ID, row.Doc.Rev)
		}
	}
	made := 0
	for _, w := range clients {
		if w.failure != nil {
			t.Error(w.failure)
		}
		for i, n := range w.made {
			if id := fmt.Sprintf("%s-%d", w.name, i); noted[id] != n {
				t.Errorf("transfer %s of %d is noted with %d", id, n, noted[id])
			}
		}
		made += len(w.made)
	}
	if len(noted) != made || edits != 2*made {
		t.Errorf("%d transfers, %d noted, accounts were changed %d times", made, len(noted), edits)
	}
}
