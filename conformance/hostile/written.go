package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
)

// written remembers writes that the server has acknowledged, by database, id and revision.
type written struct {
	mu     sync.Mutex
	dbs    map[string]map[string]string
	looked int      // how many were looked up
	lost   []string // what was missing then
}

// errLost says that acknowledged writes are missing.
var errLost = errors.New("acknowledged writes are lost")

// lose notes what could not be found.
func (w *written) lose(err error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.lost = append(w.lost, err.Error())
}

// lookUp counts writes that have been looked up.
func (w *written) lookUp(n int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.looked += n
}

// lookedUp returns how many writes have been looked up, and which were lost.
func (w *written) lookedUp() (looked int, lost []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.looked, w.lost
}

// acknowledged notes a write. Each id is written once.
func (w *written) acknowledged(db, id, rev string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.dbs == nil {
		w.dbs = map[string]map[string]string{}
	}
	if w.dbs[db] == nil {
		w.dbs[db] = map[string]string{}
	}
	w.dbs[db][id] = rev
}

// forget drops a database that is deleted.
func (w *written) forget(db string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	delete(w.dbs, db)
}

// noted returns the acknowledged writes of a database up to now.
func (w *written) noted(db string) map[string]string {
	w.mu.Lock()
	defer w.mu.Unlock()
	copied := make(map[string]string, len(w.dbs[db]))
	for id, rev := range w.dbs[db] {
		copied[id] = rev
	}
	return copied
}

// put writes a document of an attacker's, or an attachment of it, and remembers it where the server
// says that it has it.
func (a *assault) put(ctx context.Context, id string, b body, headers []string, expected ...int) reply {
	got := a.send(ctx, request{method: "PUT", path: "/" + a.db + "/" + id, body: b, headers: headers}, expected...)
	if rev, ok := acknowledgedRev(got); ok {
		id, _, _ = strings.Cut(id, "/") // of an attachment's path
		a.acknowledged(a.db, id, rev)
	}
	return got
}

func acknowledgedRev(got reply) (rev string, ok bool) {
	var saved struct{ Rev string }
	ok = (got.status == http.StatusCreated || got.status == http.StatusAccepted) &&
		json.Unmarshal([]byte(got.start), &saved) == nil
	return saved.Rev, ok
}

// verifyWritten says which acknowledged writes of the database are not there.
func (t *target) verifyWritten(ctx context.Context, db string) error {
	missing := t.noted(db)
	if len(missing) == 0 {
		return nil
	}
	all := len(missing)
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, t.url+"/"+db+"/_all_docs", nil)
	if err != nil {
		return err
	}
	req.SetBasicAuth(admin.name, admin.password)
	resp, err := t.client.Do(req)
	if err != nil {
		return err
	}
	defer resp.Body.Close()
	lines := bufio.NewReader(resp.Body)
	for {
		line, err := lines.ReadString('\n') // a row each
		var row struct {
			ID    string
			Value struct{ Rev string }
		}
		if json.Unmarshal([]byte(strings.TrimRight(line, ",\r\n")), &row) == nil && missing[row.ID] == row.Value.Rev {
			delete(missing, row.ID)
		}
		if err == io.EOF {
			break
		}
		if err != nil {
			return fmt.Errorf("listing %s: %w", db, err)
		}
	}
	t.lookUp(all)
	for id, rev := range missing {
		return fmt.Errorf("%w: %d of %d in %s, %s of %s for one", errLost, len(missing), all, db, rev, id)
	}
	return nil
}
