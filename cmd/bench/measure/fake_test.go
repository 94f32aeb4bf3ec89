package measure

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
)

// fake answers what the workloads ask as CouchDB would, from memory.
type fake struct {
	mu       sync.Mutex
	dbs      map[string]*fakeDB
	requests int
	// functions are the event functions; nil for a server that has none.
	functions map[string]*fakeFunction
	couchdb   bool // there is neither _aggregate nor PATCH
	byView    int  // groups of views that were asked for
	conflicts int
	welcome   string
	versions  string
	users     map[string]bool // that were signed up
}

type fakeDB struct {
	docs        map[string]*fakeDoc
	attachments map[string][]byte
	changed     chan struct{} // closed by the next change
	access      bool          // users see what names them
	// written, if set, is told of each document.
	written func(id, body string)
}

type fakeDoc struct {
	rev  int
	body string // of members, without _id and _rev
}

func startFake(t *testing.T) (*fake, *Target) {
	t.Helper()
	f := &fake{
		dbs: map[string]*fakeDB{}, functions: map[string]*fakeFunction{},
		welcome: `{"couchdb":"Welcome","version":"3.5.2"}`, users: map[string]bool{},
	}
	server := httptest.NewServer(f)
	t.Cleanup(server.Close)
	target, err := ParseTarget("A", "http://bench:secret@"+server.Listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	return f, target
}

func (d *fakeDB) put(id string, members map[string]json.RawMessage) int {
	doc := d.docs[id]
	if doc == nil {
		doc = &fakeDoc{}
		d.docs[id] = doc
	}
	var rev string
	_ = json.Unmarshal(members["_rev"], &rev)
	if doc.rev > 0 && rev != fmt.Sprintf("%d-x", doc.rev) {
		return 0
	}
	delete(members, "_id")
	delete(members, "_rev")
	text, _ := json.Marshal(members)
	doc.rev, doc.body = doc.rev+1, strings.TrimPrefix(string(text), "{")
	close(d.changed)
	d.changed = make(chan struct{})
	if d.written != nil {
		d.written(id, doc.body)
	}
	return doc.rev
}

func (d *fakeDB) get(id string) string {
	return fmt.Sprintf(`{"_id":%q,"_rev":"%d-x",%s`, id, d.docs[id].rev, d.docs[id].body)
}

func (d *fakeDB) ids() []string {
	var ids []string
	for id := range d.docs {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	return ids
}

func (f *fake) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.requests++
	user, password, _ := r.BasicAuth()
	if user != "bench" && !f.users[user] || password != "secret" {
		http.Error(w, "{}", http.StatusUnauthorized)
		return
	}
	path := strings.Split(strings.Trim(r.URL.Path, "/"), "/")
	body, _ := io.ReadAll(r.Body)
	db := f.dbs[path[0]]
	switch {
	case path[0] == "":
		fmt.Fprintln(w, f.welcome)
	case path[0] == "_node":
		fmt.Fprintln(w, f.versions)
	case path[0] == "_eventing" && f.functions != nil:
		f.functionsAPI(w, r.Method, path[3:], body)
	case path[0] == "_replicate":
		f.replicate(w, body)
	case path[0] == "_users":
		f.user(w, r.Method, strings.TrimPrefix(path[1], "org.couchdb.user:"))
	case len(path) == 1:
		f.database(w, r.Method, path[0])
		if db = f.dbs[path[0]]; db != nil && !f.couchdb {
			db.access = db.access || r.URL.Query().Has("access")
		}
	case db == nil:
		http.Error(w, "no such database", http.StatusNotFound)
	case f.couchdb && (path[1] == "_aggregate" || path[1] == "_index"):
		http.Error(w, `{"error":"bad_request"}`, http.StatusBadRequest)
	case len(path) > 1 && path[1] == "_design" && r.URL.Query().Has("group"):
		f.byView++
		fmt.Fprint(w, strings.Repeat("{\"key\":[1]}\n", manyGroups))
	case len(path) > 1 && path[1] == "_design":
		db.design(w, r, path[2:])
	case len(path) == 3 && path[1] == "_compact":
		w.WriteHeader(http.StatusAccepted)
	case len(path) == 3 && r.Method == "PUT":
		db.attachments[path[1]] = body
		w.WriteHeader(http.StatusCreated)
	case len(path) == 3:
		_, _ = w.Write(db.attachments[path[1]])
	case path[1] == "_security":
	case path[1] == "_changes" && r.URL.Query().Get("feed") == "longpoll":
		f.longpoll(w, r, db, user)
	case path[1] == "_changes" && (db.access || r.URL.Query().Has("filter")) && user != "bench":
		db.slice(user).special(w, path[1], body, true)
	case path[1] == "_changes" && r.URL.Query().Get("feed") == "continuous":
		f.continuous(w, r, db)
	case strings.HasPrefix(path[1], "_"):
		db.special(w, path[1], body, r.URL.Query().Has("include_docs"))
	case r.Method == "PUT":
		var members map[string]json.RawMessage
		if json.Unmarshal(body, &members) != nil || db.put(path[1], members) == 0 {
			f.conflicts++
			w.WriteHeader(http.StatusConflict)
			return
		}
		w.WriteHeader(http.StatusCreated)
	case r.Method == "PATCH" && f.couchdb:
		w.WriteHeader(http.StatusMethodNotAllowed)
	case r.Method == "PATCH":
		w.WriteHeader(http.StatusCreated)
	default:
		fmt.Fprintln(w, db.get(path[1]))
	}
}

func (f *fake) database(w http.ResponseWriter, method, name string) {
	switch method {
	case "PUT":
		f.dbs[name] = &fakeDB{
			docs:        map[string]*fakeDoc{},
			attachments: map[string][]byte{},
			changed:     make(chan struct{}),
		}
		w.WriteHeader(http.StatusCreated)
	case "DELETE":
		delete(f.dbs, name)
	default:
		doc := `{"compact_running":false,"doc_count":%d,"doc_del_count":0,"props":{"access":%t}}` + "\n"
		if db := f.dbs[name]; db != nil {
			fmt.Fprintf(w, doc, len(db.docs), db.access)
		}
	}
}

// replicate answers as if all documents of the source had been copied.
func (f *fake) replicate(w http.ResponseWriter, body []byte) {
	var asked struct{ Source json.RawMessage }
	if err := json.Unmarshal(body, &asked); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	for name, db := range f.dbs {
		if bytes.Contains(asked.Source, []byte(name+`"`)) {
			fmt.Fprintf(w, `{"ok":true,"history":[{"docs_written":%d,"doc_write_failures":0}]}`+"\n", len(db.docs))
			return
		}
	}
	http.Error(w, "no such source", http.StatusInternalServerError)
}

// user signs a user up, or off.
func (f *fake) user(w http.ResponseWriter, method, name string) {
	if method == "DELETE" {
		delete(f.users, name)
		return
	}
	f.users[name] = true
	w.WriteHeader(http.StatusCreated)
	fmt.Fprintln(w, `{"ok":true,"rev":"1-x"}`)
}

// slice are the documents that name a user.
func (d *fakeDB) slice(user string) *fakeDB {
	own := &fakeDB{docs: map[string]*fakeDoc{}}
	for id, doc := range d.docs {
		if strings.Contains(doc.body, fmt.Sprintf(`"_access":[%q`, user)) {
			own.docs[id] = doc
		}
	}
	return own
}

func (f *fake) longpoll(w http.ResponseWriter, r *http.Request, db *fakeDB, user string) {
	fmt.Fprintln(w, `{"results":[`)
	w.(http.Flusher).Flush()
	for seen := len(db.slice(user).docs); ; {
		changed := db.changed
		f.mu.Unlock()
		select {
		case <-changed:
		case <-r.Context().Done():
		}
		f.mu.Lock()
		if !db.access || user == "bench" || len(db.slice(user).docs) != seen || r.Context().Err() != nil {
			break
		}
	}
	fmt.Fprintln(w, `{"seq":1,"changes":[]}],"last_seq":1}`)
}

func (d *fakeDB) special(w http.ResponseWriter, name string, body []byte, include bool) {
	var in struct {
		Keys []string
		Docs []map[string]json.RawMessage
	}
	_ = json.Unmarshal(body, &in)
	switch name {
	case "_compact", "_view_cleanup", "_search_cleanup":
		w.WriteHeader(http.StatusAccepted)
	case "_index":
		fmt.Fprintln(w, `{"result":"created"}`)
	case "_find":
		fmt.Fprint(w, strings.Repeat("{\"_id\":\"x\"}\n", 26))
	case "_aggregate":
		fmt.Fprintf(w, `{"groups":[%s]}`+"\n", strings.Repeat(`{"key":["x"],"n":1},`, manyGroups))
	case "_bulk_docs":
		w.WriteHeader(http.StatusCreated)
		for _, doc := range in.Docs {
			var id string
			_ = json.Unmarshal(doc["_id"], &id)
			fmt.Fprintf(w, `{"ok":%t}`, d.put(id, doc) > 0)
		}
	case "_bulk_get":
		for _, doc := range in.Docs {
			var id string
			_ = json.Unmarshal(doc["id"], &id)
			fmt.Fprint(w, d.get(id))
		}
	default:
		ids := in.Keys
		if ids == nil {
			ids = d.ids()
		}
		for _, id := range ids {
			fmt.Fprintf(w, `{"id":%q,"value":{"rev":"%d-x"}}`+"\n", id, d.docs[id].rev)
			if include {
				fmt.Fprint(w, d.get(id))
			}
		}
	}
}

// design stores nothing: every view has a row for each document and key, and a reduction is 13
// lines, as many as asked for at most.
func (d *fakeDB) design(w http.ResponseWriter, r *http.Request, path []string) {
	switch {
	case r.Method == "PUT":
		w.WriteHeader(http.StatusCreated)
		fmt.Fprintln(w, `{"ok":true,"rev":"1-x"}`)
	case len(path) == 1: // DELETE
		fmt.Fprintln(w, `{"ok":true}`)
	case path[1] == "_search":
		fmt.Fprintln(w, `{"total_rows":1,"bookmark":"x","rows":[{"id":"x"}]}`)
	case r.URL.Query().Get("reduce") == "false":
		start, end := r.URL.Query().Get("startkey"), r.URL.Query().Get("endkey")
		if key := r.URL.Query().Get("key"); key != "" {
			start, end = key, key
		}
		fmt.Fprintln(w, `{"rows":[`)
		for _, id := range d.ids() {
			if key := fmt.Sprintf("%q", id); key >= start && (end == "" || key <= end) {
				fmt.Fprintf(w, "{\"key\":%q}\n", id)
			}
		}
	default:
		fmt.Fprint(w, strings.Repeat("{\"key\":null}\n", 13))
	}
}
