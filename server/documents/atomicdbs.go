package documents

import (
	"net/http"
	"strconv"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/server/call"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/answers"
)

// maxAtomicDatabases is how many databases a request writes to at most.
const maxAtomicDatabases = 100

var errAtomicDatabases = compat.NewError(compat.KindBadRequest,
	"`dbs` must be an object of 1 to "+strconv.Itoa(maxAtomicDatabases)+
		" databases, each with `docs` and `check`, which are lists")

// postAtomic serves POST /_atomic, which CouchDB does not have: documents of several databases are
// stored in one transaction, or none of them. Each database is asked for its rights, its validation
// functions and its limits as by a _bulk_docs of its own.
func postAtomic(c *call.Call) error {
	body, err := c.JSONRequest()
	if err != nil {
		return err
	}
	if err := c.NodeDown(); err != nil {
		return err
	}
	once, err := onceOf(c, body.Raw())
	if err != nil {
		return err
	}
	o, err := writeOptions(c, false)
	if err != nil {
		return err
	}
	run := &atomicRun{c: c, once: once}
	patches, err := run.readDatabases(body, o)
	if err != nil {
		return err
	}
	run.answer = func() *answers.Answer {
		b := run.appendDatabases([]byte{'{'}, func(i int) []byte {
			return appendResults(nil, run.parts[i].rowsOf(), false)
		})
		return &answers.Answer{Status: http.StatusCreated, Body: append(b, '}')}
	}
	if err := run.bound(); err != nil {
		return err
	}
	if !patches {
		c.DropJSON()
	}
	err = run.store()
	switch found, refused := refusalOf(err); {
	case refused:
		return run.refuseAtomic(found)
	case err != nil:
		return err
	}
	c.SetHeader("X-Settee-Atomic", "true")
	return run.reply()
}

// readDatabases reads `dbs`, and tells whether there are patches, which refer to the body.
func (r *atomicRun) readDatabases(body ejson.Value, o documents.WriteOptions) (patches bool, err error) {
	dbs, _ := body.Get("dbs")
	if dbs.Kind() != ejson.Object || dbs.Len() == 0 || dbs.Len() > maxAtomicDatabases {
		return false, errAtomicDatabases
	}
	for key, value := range dbs.Members() {
		name := key.Text()
		d := r.c.Env.Docs.Database(name, r.c.User,
			documents.Origin{Rules: &r.c.Settings.Rules, Address: r.c.Peer, Request: r.c.ID, Memory: r.c.Outgoing})
		if err := d.Access().Authorize(r.c.Context(), false); err != nil {
			return false, err
		}
		if err := d.Access().Require(r.c.Context()); err != nil {
			return false, err
		}
		p, err := readAtomicPart(r.c, d, value)
		if err != nil {
			return false, err
		}
		p.checks.Options = o
		r.names, r.parts = append(r.names, name), append(r.parts, p)
		patches = patches || len(p.rows.patches) > 0
	}
	return patches, nil
}

// readAtomicPart reads {"docs", "check"} of a database, of which one may be missing.
func readAtomicPart(c *call.Call, d *documents.Database, value ejson.Value) (*atomicPart, error) {
	p := &atomicPart{rows: new(bulkRows), checks: documents.CommitPart{Database: d}}
	if value.Kind() != ejson.Object {
		return nil, errAtomicDatabases
	}
	var list, check ejson.Value
	for key, member := range value.Members() {
		switch {
		case key.Text() == "docs" && member.Kind() == ejson.Array:
			list = member
		case key.Text() == "check":
			check = member
		default:
			return nil, errAtomicDatabases
		}
	}
	if err := readChecks(&p.checks, check); err != nil {
		return nil, err
	}
	if list.Kind() != ejson.Array {
		return p, nil
	}
	c.Env.Stats.BulkDocs.Add(float64(list.Len()))
	rows, err := bulkDocuments(c, d, list, true)
	p.rows = rows
	return p, err
}

// appendDatabases appends the member `dbs` with a list for each database.
func (r *atomicRun) appendDatabases(b []byte, list func(i int) []byte) []byte {
	b = append(b, `"dbs":{`...)
	for i, name := range r.names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(append(ejson.AppendString(b, name), ':'), list(i)...)
	}
	return append(b, '}')
}

// where says in which database a document is, where there may be several.
func (r *atomicRun) where(d storage.DocOf) string {
	if r.names == nil {
		return ""
	}
	return " in " + strconv.Quote(r.names[d.Database])
}
