package cases

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"

	"github.com/settee-db/settee/compat"
	"github.com/settee-db/settee/compat/ejson"
	"github.com/settee-db/settee/config"
	"github.com/settee-db/settee/documents"
	"github.com/settee-db/settee/mango"
	"github.com/settee-db/settee/principal"
	"github.com/settee-db/settee/storage"
	"github.com/settee-db/settee/storage/docread"
	"github.com/settee-db/settee/storage/jobs"
	"github.com/settee-db/settee/storage/keyspace"
	"github.com/settee-db/settee/storage/kv"
	"github.com/settee-db/settee/views"
)

// store is the store of a case, with what reads and writes documents.
type store struct {
	kv    kv.Store
	store *storage.Store
	jobs  *jobs.Queue
	views *views.Views
	docs  *documents.Store
}

// admin is who writes the documents of a case.
var admin = principal.Principal{Name: "test", Roles: []string{"_admin"}}

// openStore makes an empty store in which documents are checked as in a server with the
// configuration that it has at first.
func openStore(ctx context.Context, o Options) (s *store, err error) {
	s = &store{kv: o.Open()}
	if s.store, err = storage.Open(ctx, storage.Options{KV: s.kv}); err != nil {
		return nil, errors.Join(err, s.kv.Close())
	}
	s.jobs, err = jobs.Open(ctx, jobs.Options{KV: s.kv, Prefix: keyspace.JobsPrefix(), Exclusive: true})
	if err != nil {
		return nil, errors.Join(err, s.store.Close(), s.kv.Close())
	}
	s.views, err = views.Open(views.Options{
		Store: s.store, KV: s.kv, Jobs: s.jobs, JS: o.JS,
		Languages: map[string]views.Language{mango.Language: mango.Views{}},
	})
	if err != nil {
		return nil, errors.Join(err, s.jobs.Close(), s.store.Close(), s.kv.Close())
	}
	c, err := config.Load(config.Stock())
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	s.store.SetHooks(storage.Hooks{Validator: documents.NewValidator(c, s.views, o.JS), Indexer: s.views})
	uuids, err := compat.NewUUIDs(compat.UUIDOptions{})
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	rules := &documents.Rules{
		MaxDocIDLength:  c.Int("couchdb", "max_document_id_length", 1<<31),
		MaxDocumentSize: c.Int("couchdb", "max_document_size", 8<<20), MaxAttachmentSize: 1 << 20,
		UUIDs: uuids, UsersDB: "_users",
	}
	s.docs = documents.New(documents.Options{
		Store: s.store, Designs: s.views, JS: o.JS, Log: slog.New(slog.DiscardHandler),
		Verifier: principal.NewVerifier(func(bool) {}), Rules: func() *documents.Rules { return rules },
		CheckReplication: func(ejson.Value) error { return nil },
		UsersChanged:     func() {}, Read: func(int) {}, Written: func(int, int, int) {},
		Evaluated: func(int) {}, Rejected: func() {},
	})
	s.jobs.Start()
	return s, nil
}

func (s *store) close() error {
	return errors.Join(s.jobs.Close(), s.views.Close(), s.store.Close(), s.kv.Close())
}

func (s *store) create(ctx context.Context, database string) error {
	if err := s.store.Create(ctx, database, storage.CreateOptions{Q: 1, N: 1}); err != nil {
		return fmt.Errorf("database %s: %w", database, err)
	}
	return nil
}

// put writes a document over whatever is there; without a body it is deleted.
func (s *store) put(ctx context.Context, database, id string, body json.RawMessage) error {
	d := s.docs.Database(database, admin, documents.Origin{})
	members := map[string]json.RawMessage{}
	if body == nil {
		members["_deleted"] = json.RawMessage("true")
	} else if err := json.Unmarshal(body, &members); err != nil {
		return fmt.Errorf("%s in %s: %w", id, database, err)
	}
	members["_id"], _ = json.Marshal(id) // texts always can be
	old, err := d.Open(ctx, id, docread.OpenOptions{})
	if err == nil {
		members["_rev"], err = json.Marshal(old.Rev.String())
	} else if errors.Is(err, compat.KindNotFound) && body != nil {
		err = nil
	}
	if err != nil {
		return fmt.Errorf("%s in %s: %w", id, database, err)
	}
	text, err := json.Marshal(members)
	if err != nil {
		return err
	}
	p, err := d.Parser(ctx, false)
	if err != nil {
		return err
	}
	doc, err := p.ParseText(text)
	if err == nil {
		_, err = d.Write(ctx, doc, documents.WriteOptions{})
	}
	if err != nil {
		return fmt.Errorf("%s in %s: %w", id, database, err)
	}
	return nil
}

// documents are those of a database, by their ids.
func (r *run) documents(database string) (map[string]json.RawMessage, error) {
	all := make(map[string]json.RawMessage)
	err := r.store.store.DB(database).ViewAgain(r.ctx, func(s *storage.Snapshot) error {
		clear(all)
		return s.AllDocs(storage.RangeOptions{Limit: -1, IncludeDocs: true}, func(row *storage.ListRow) error {
			all[row.ID] = json.RawMessage(string(row.Doc.Body))
			return nil
		})
	})
	if err != nil {
		return nil, fmt.Errorf("database %s: %w", database, err)
	}
	return all, nil
}
