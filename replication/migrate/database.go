package migrate

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/replication"
	"github.com/settee-db/settee/replication/site"
)

const usersDB = "_users"

// attempts is how often copying is begun; each one goes on from the checkpoint of the one before.
const attempts = 4

// database is one database on its way. Its steps run one after the other.
type database struct {
	m        *Migration
	name     string
	report   Report
	compared atomic.Int64
	made     bool              // at the target, by this run
	sent     map[string]string // settings by their paths, groups' revisions
	groups   bool              // the source has, or had, groups
	seq      json.RawMessage   // of the source, up to which everything is copied
	instance json.RawMessage   // instance_start_time of the source's, when it was looked at last
	lag      int64             // changes that the last look found behind it; 1 for unknown

	mu      sync.Mutex
	session *replication.Session
}

// done is how many revisions are copied, or compared.
func (d *database) done(comparing bool) int64 {
	if comparing {
		return d.compared.Load()
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.session == nil {
		return 0
	}
	return d.session.Progress().Checked
}

// settings makes the database with the source's kind, limits and permissions. What it has sent
// before is not sent again.
func (d *database) settings(ctx context.Context) error {
	source, path := d.m.o.Source, site.DBPath(d.name)
	if err := d.make(ctx, path); err != nil {
		return err
	}
	var limit, security json.RawMessage
	if err := source.GetJSON(ctx, path+"/_revs_limit", &limit); err != nil {
		return err
	}
	if err := d.set(ctx, path+"/_revs_limit", limit); err != nil {
		return err
	}
	if err := d.copyOthers(ctx, path); err != nil {
		return err
	}
	if err := d.copyGroups(ctx, path); err != nil {
		return err
	}
	if d.name == usersDB { // its security object is fixed
		return nil
	}
	if err := source.GetJSON(ctx, path+"/_security", &security); err != nil {
		return err
	}
	return d.set(ctx, path+"/_security", security)
}

// make makes the database at the target, and notes there what it is a copy of.
func (d *database) make(ctx context.Context, path string) error {
	if d.made {
		return nil
	}
	var info struct {
		DocCount      int64           `json:"doc_count"`
		DocDelCount   int64           `json:"doc_del_count"`
		InstanceStart json.RawMessage `json:"instance_start_time"`
		Props         kind
	}
	if err := d.m.o.Source.GetJSON(ctx, path, &info); err != nil {
		return err
	}
	d.report.Documents = info.DocCount + info.DocDelCount
	d.m.total.Add(d.report.Documents)
	created, err := createDB(ctx, d.m.o.Target, d.name, info.Props)
	if err != nil {
		return err
	}
	if created {
		if err := d.mark(ctx, path, info.InstanceStart); err != nil {
			return err
		}
	}
	d.made, d.sent = true, map[string]string{}
	return nil
}

// set changes a setting of the target, unless this run has sent just that: a round asks for the
// settings of every database, and most do not change.
func (d *database) set(ctx context.Context, path string, value json.RawMessage) error {
	if d.sent[path] == string(value) {
		return nil
	}
	err := d.m.o.Target.Send(ctx, http.MethodPut, path, bytes.NewReader(value))
	if err == nil {
		d.sent[path] = string(value)
	}
	return err
}

// copyOthers copies how many purges are remembered, how long deleted documents and replaced revisions
// are kept, and to whom users may give documents. A setting that the source does not have, or does
// not show to this user, is not copied; neither is an empty /_history, since a CouchDB as the target
// has no such path. One that the target does not have is left out.
func (d *database) copyOthers(ctx context.Context, path string) error {
	for _, name := range []string{"/_purged_infos_limit", "/_auto_purge", "/_history", "/_access"} {
		var set json.RawMessage
		err := d.m.o.Source.GetJSON(ctx, path+name, &set)
		_, answered := errors.AsType[*site.Error](err)
		if answered || name == "/_history" && string(set) == "{}" {
			continue
		}
		if err == nil {
			err = d.set(ctx, path+name, set)
		}
		// CouchDB 3.5 takes a path that it does not have for a bad document id, 400.
		if e, ok := errors.AsType[*site.Error](err); ok &&
			(e.Status == http.StatusBadRequest || e.Status == http.StatusNotFound) {
			d.sent[path+name] = string(set)
			d.m.o.Log("the target has no such setting", "database", d.name, "setting", name)
			err = nil
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// kind is what a database is for life, as GET /db shows it.
type kind struct{ Partitioned, Access bool }

// createDB creates a database at a site; that it exists already is no error. One with access for
// each document is not copied to a server that would show all of it to everybody.
func createDB(ctx context.Context, s *site.Site, name string, of kind) (created bool, err error) {
	path := site.DBPath(name)
	query := make(url.Values)
	if of.Partitioned {
		query.Set("partitioned", "true")
	}
	if of.Access {
		query.Set("access", "true")
	}
	with := path
	if len(query) > 0 {
		with += "?" + query.Encode()
	}
	err = s.Send(ctx, http.MethodPut, with, nil)
	created = err == nil
	if e, ok := errors.AsType[*site.Error](err); ok && e.Status == http.StatusPreconditionFailed {
		err = nil
	}
	if err != nil || !of.Access {
		return created, err
	}
	var made struct{ Props kind }
	if err := s.GetJSON(ctx, path, &made); err != nil {
		return created, err
	}
	if !made.Props.Access {
		return created, fmt.Errorf("database %q has access for each document, the one at the target has not: "+
			"everybody would read all of it", name)
	}
	return created, nil
}

// copyRest copies what came since, and builds indexes for it.
func (d *database) copyRest(ctx context.Context) error {
	for attempt := 1; ; attempt++ {
		err := d.replicate(ctx)
		if err == nil {
			break
		}
		if attempt == attempts || ctx.Err() != nil {
			return err
		}
		d.m.o.Log("copying is tried again", "database", d.name, "error", err)
		select {
		case <-time.After(time.Duration(attempt) * time.Second):
		case <-ctx.Done():
		}
	}
	if d.m.o.Indexes {
		return d.indexes(ctx)
	}
	return nil
}

// replicate runs one replication of the database to its end. The session is shown to the reports
// while it runs; what it has copied is reported also if it fails.
func (d *database) replicate(ctx context.Context) error {
	set := d.m.settings()
	spec, err := d.spec(set)
	if err != nil {
		return err
	}
	source := replication.NewHTTPPeer(&spec.Source, &spec.Options, set)
	defer source.Close()
	target := replication.NewHTTPPeer(&spec.Target, &spec.Options, set)
	defer target.Close()
	session := replication.NewSession(spec, set, source, target, "", replication.Stats{}, d.m.o.Log)
	d.mu.Lock()
	d.session = session
	d.mu.Unlock()
	_, err = session.Do(ctx)
	p := session.Progress()
	d.report.Written, d.report.Failures = p.Written, p.Failures
	return err
}

// spec is the replication. Of the users only the users: the design document of the target is its
// own.
func (d *database) spec(set *replication.Settings) (*replication.Spec, error) {
	b := d.endpoint([]byte(`{"source":`), d.m.o.Source, "")
	b = d.endpoint(append(b, `,"target":`...), d.m.o.Target, `,"headers":{"`+compat.TrustedHeader+`":"true"}`)
	b = append(b, `,"checkpoint_interval":5000`...)
	if d.name == usersDB {
		b = append(b, `,"selector":{"_id":{"$gt":"org.couchdb.user:","$lt":"org.couchdb.user;"}}`...)
	}
	v, err := ejson.Parse(append(b, '}'))
	if err != nil {
		return nil, err
	}
	spec, err := replication.ParseSpec(v, set)
	if err != nil {
		return nil, err
	}
	spec.SetID(set, "")
	return spec, nil
}

// endpoint prints one end of a replication as a replicator document has it.
func (d *database) endpoint(b []byte, s *site.Site, more string) []byte {
	b = ejson.AppendString(append(b, `{"url":`...), s.Base+site.DBPath(d.name))
	if s.Name != "" {
		b = ejson.AppendString(append(b, `,"auth":{"basic":{"username":`...), s.Name)
		b = append(ejson.AppendString(append(b, `,"password":`...), s.Password), "}}"...)
	}
	return append(append(b, more...), '}')
}

// indexes asks for one row of a view of each design document, which is answered when the index is
// built.
func (d *database) indexes(ctx context.Context) error {
	target, path := d.m.o.Target, site.DBPath(d.name)
	var list struct {
		Rows []struct {
			ID  string
			Doc struct {
				Language string
				Options  struct{ Partitioned *bool }
				Views    map[string]json.RawMessage
			}
		}
	}
	if err := target.GetJSON(ctx, path+"/_design_docs?include_docs=true", &list); err != nil {
		return err
	}
	d.report.Indexes = 0
	for _, row := range list.Rows {
		if row.Doc.Language == "query" || len(row.Doc.Views) == 0 {
			continue // those are kept with the documents
		}
		id := url.PathEscape(strings.TrimPrefix(row.ID, "_design/"))
		if err := d.index(ctx, path+"/_design/"+id, row.Doc.Views); err != nil {
			return err
		}
	}
	return nil
}

// index builds the indexes of one design document. A view that fails is told, and does not end the
// migration: it failed at the source, too.
func (d *database) index(ctx context.Context, path string, views map[string]json.RawMessage) error {
	for name := range views {
		if name == "lib" {
			continue
		}
		err := d.m.o.Target.Send(ctx, http.MethodGet, path+"/_view/"+url.PathEscape(name)+"?limit=0&reduce=false", nil)
		e, answered := errors.AsType[*site.Error](err)
		switch {
		case answered && e.Word == "query_parse_error": // a view of partitions; they are built together
		case answered:
			d.m.o.Log("a view cannot be built", "database", d.name, "view", path+"/_view/"+name, "error", e)
		case err != nil:
			return err
		}
		d.report.Indexes++
	}
	return nil
}
