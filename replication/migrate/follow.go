package migrate

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/settee-db/settee/replication/site"
)

const (
	// quietRounds is how many looks at the source in a row find nothing new before it is taken for
	// drained.
	quietRounds = 3
	// markID is a local document of each copy. It says of which database the copy is, so that only
	// copies are ever deleted.
	markID = "/_local/settee-migrate"
)

// mark is its body.
type mark struct {
	Source   string          `json:"source"`   // names the server
	Instance json.RawMessage `json:"instance"` // the database's instance_start_time there
}

// follow looks at the source again and again, and copies what is new. A round is a look at each
// database; a replication runs only where something was written. A database that fails is tried
// again in the next round.
func (m *Migration) follow(ctx context.Context) error {
	last, quiet := int64(-1), 0
	for switching := false; ; {
		lag, err := m.round(ctx)
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case err != nil:
			m.o.Log("the source cannot be followed; it is tried again", "error", err)
		case lag == 0 && last != 0:
			m.o.Log("the copy is current; lag 0")
		case lag > 0 && lag != last:
			m.o.Log("the copy is not current", "lag", lag)
		}
		if last, quiet = lag, quiet+1; lag > 0 || err != nil {
			quiet = 0
		}
		if switching && quiet >= quietRounds {
			return nil
		}
		// The switch begins in the middle of a pause: a round after it sees all that was written
		// before.
		began := m.o.Switch
		if switching {
			began = nil // it is closed
		}
		select {
		case <-began:
			m.o.Log("switching: waiting until nothing is written to the source")
			switching, quiet = true, 0
		case <-time.After(m.o.Every):
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// round brings all databases up to date. lag is how many changes there were to copy at its begin,
// and how many databases could not be copied.
func (m *Migration) round(ctx context.Context) (lag int64, err error) {
	names, err := m.names(ctx)
	if err != nil {
		return 1, err
	}
	if m.o.Deletions {
		if err := m.delete(ctx, names); err != nil {
			return 1, err
		}
	}
	m.databases = slices.DeleteFunc(m.databases, func(d *database) bool {
		return !slices.Contains(names, d.name)
	})
	for _, name := range names {
		if !slices.ContainsFunc(m.databases, func(d *database) bool { return d.name == name }) {
			m.databases = append(m.databases, &database{m: m, name: name, report: Report{Database: name}})
		}
	}
	for _, d := range m.databases {
		if d.report.Err != nil { // something may have become of its copy
			d.made, d.seq, d.report.Err = false, nil, nil
		}
	}
	if err := m.each(ctx, (*database).catchUp); err != nil {
		return 1, err
	}
	for _, d := range m.databases {
		lag += d.lag
		if d.report.Err != nil {
			lag++
			m.o.Log("a database cannot be copied; it is tried again", "error", d.report.Err)
		}
	}
	return lag, nil
}

// catchUp copies what is new in a database. The sequence is read before anything is copied: what
// comes later is found by the next round.
func (d *database) catchUp(ctx context.Context) error {
	path := site.DBPath(d.name)
	var info struct {
		Seq      json.RawMessage `json:"update_seq"`
		Instance json.RawMessage `json:"instance_start_time"`
	}
	// A database that was deleted since it was listed is no failure.
	d.lag = 0
	if err := d.m.o.Source.GetJSON(ctx, path, &info); err != nil {
		if d.m.o.Follow && absent(err) { // the next round knows
			return nil
		}
		return err
	}
	if d.m.o.Deletions {
		if err := d.remake(ctx, path, info.Instance); err != nil {
			return err
		}
	}
	if err := d.settings(ctx); err != nil {
		return err
	}
	if d.seq != nil && bytes.Equal(info.Seq, d.seq) {
		return nil
	}
	d.lag = d.pending(ctx, path)
	if err := d.copyRest(ctx); err != nil {
		return err
	}
	d.seq = info.Seq
	return nil
}

// pending counts the changes that are still to be copied: 1 where the source cannot tell.
func (d *database) pending(ctx context.Context, path string) int64 {
	since := "0" // sequences are numbers or texts, by the version of CouchDB
	if d.seq != nil {
		since = string(d.seq)
		var text string
		if json.Unmarshal(d.seq, &text) == nil {
			since = text
		}
	}
	var changes struct{ Pending *int64 }
	err := d.m.o.Source.GetJSON(ctx, path+"/_changes?limit=0&since="+url.QueryEscape(since), &changes)
	if err != nil || changes.Pending == nil {
		return 1
	}
	return *changes.Pending
}

// mark notes at the target, in a database that was just made there, of what it is a copy.
func (d *database) mark(ctx context.Context, path string, instance json.RawMessage) error {
	body, err := json.Marshal(mark{d.m.sourceID(), instance})
	if err != nil {
		return err
	}
	return d.m.o.Target.Send(ctx, http.MethodPut, path+markID, bytes.NewReader(body))
}

// readMark reads the mark of a database; rev is "" where there is none, as in a database that was
// at the target before, or one whose making was killed half-way: neither is ever deleted.
func readMark(ctx context.Context, s *site.Site, path string) (m mark, rev string, err error) {
	var doc struct {
		mark
		Rev string `json:"_rev"`
	}
	err = s.GetJSON(ctx, path+markID, &doc)
	if absent(err) {
		err = nil
	}
	return doc.mark, doc.Rev, err
}

// sourceID names the source in marks, without its name: marks can be read by all who read the
// database. Who changes the URL of the source loses only the deletions.
func (m *Migration) sourceID() string {
	sum := sha256.Sum256([]byte(m.o.Source.Base))
	return hex.EncodeToString(sum[:8])
}

// delete deletes the copies of databases that the source does not have any more.
func (m *Migration) delete(ctx context.Context, names []string) error {
	var there []string
	if err := m.o.Target.GetJSON(ctx, "/_all_dbs", &there); err != nil {
		return err
	}
	for _, name := range there {
		if slices.Contains(names, name) || strings.HasPrefix(name, "_") || isReplicator(name) {
			continue
		}
		path := site.DBPath(name)
		copied, rev, err := readMark(ctx, m.o.Target, path)
		if err != nil {
			return err
		}
		if rev == "" || copied.Source != m.sourceID() {
			continue
		}
		// a list may be incomplete: the database itself is asked for
		if err := m.o.Source.Send(ctx, http.MethodGet, path, nil); !absent(err) {
			if err != nil {
				return err
			}
			continue
		}
		m.o.Log("a database was deleted at the source, and is at the target", "database", name)
		if err := m.o.Target.Send(ctx, http.MethodDelete, path, nil); err != nil && !absent(err) {
			return err
		}
	}
	return nil
}

// remake deletes the copy of a database that was deleted and made anew at the source, so that
// nothing of the old one is left. A copy that is marked with another instance_start_time is of the
// old one, whichever run has made it. CouchDBs that give "0" to all databases tell nothing.
func (d *database) remake(ctx context.Context, path string, instance json.RawMessage) error {
	if strings.HasPrefix(d.name, "_") || bytes.Equal(d.instance, instance) {
		return nil // the server's own, or as it was
	}
	copied, rev, err := readMark(ctx, d.m.o.Target, path)
	if err != nil {
		return err
	}
	d.instance = instance
	unknown := string(instance) == `"0"` || string(copied.Instance) == `"0"` // older CouchDBs
	same := bytes.Equal(copied.Instance, instance)
	if rev == "" || copied.Source != d.m.sourceID() || unknown || same {
		return nil
	}
	d.m.o.Log("a database was made anew at the source", "database", d.name)
	d.made, d.seq, d.sent = false, nil, nil
	err = d.m.o.Target.Send(ctx, http.MethodDelete, path, nil)
	if absent(err) {
		err = nil
	}
	return err
}

// absent reports whether err is an answer that something is not there.
func absent(err error) bool {
	e, ok := errors.AsType[*site.Error](err)
	return ok && e.Status == http.StatusNotFound
}
