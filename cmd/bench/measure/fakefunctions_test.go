package measure

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// fakeFunction is an event function of a fake. What it does follows from its code: it copies, or
// makes timers.
type fakeFunction struct {
	definition struct {
		Code string `json:"appcode"`
		Deps struct {
			Source  string `json:"source_bucket"`
			Buckets []struct {
				Name string `json:"bucket_name"`
			} `json:"buckets"`
		} `json:"depcfg"`
	}
	deployed                  bool
	processed, created, fired int
}

// functionsAPI answers requests below /_eventing/api/v1. The mutex is held.
func (f *fake) functionsAPI(w http.ResponseWriter, method string, path []string, body []byte) {
	if len(path) == 1 && path[0] == "status" {
		fmt.Fprintln(w, `{"apps":[]}`)
		return
	}
	fn := f.functions[path[1]]
	switch {
	case len(path) == 2 && method == "POST":
		fn = &fakeFunction{}
		if json.Unmarshal(body, &fn.definition) != nil || f.dbs[fn.definition.Deps.Source] == nil {
			http.Error(w, "{}", http.StatusBadRequest)
			return
		}
		f.functions[path[1]] = fn
	case fn == nil:
		http.Error(w, "{}", http.StatusNotFound)
	case len(path) == 2 && method == "DELETE":
		if fn.deployed {
			http.Error(w, "{}", http.StatusUnprocessableEntity)
			return
		}
		delete(f.functions, path[1])
	case path[0] == "stats":
		fmt.Fprintf(w, `{"events_remaining":{"dcp_backlog":0},"execution_stats":{"num_processed_events":%d,`+
			`"timer_create_counter":%d,"timer_msg_counter":%d}}`, fn.processed, fn.created, fn.fired)
	case path[2] == "deploy":
		fn.deployed = true
		source := f.dbs[fn.definition.Deps.Source]
		for _, id := range source.ids() {
			f.event(fn, id, source.docs[id].body)
		}
		source.written = func(id, body string) { f.event(fn, id, body) }
		fmt.Fprintln(w, `{"info":"Function: f is deployed"}`)
	case path[2] == "undeploy" && fn.deployed:
		fn.deployed = false
		if source := f.dbs[fn.definition.Deps.Source]; source != nil {
			source.written = nil
		}
		fmt.Fprintln(w, `{"info":"Function: f is undeployed"}`)
	default:
		http.Error(w, "{}", http.StatusNotAcceptable)
	}
}

// event has a function see a document. The mutex is held.
func (f *fake) event(fn *fakeFunction, id, body string) {
	fn.processed++
	var target *fakeDB
	if len(fn.definition.Deps.Buckets) > 0 {
		target = f.dbs[fn.definition.Deps.Buckets[0].Name]
	}
	var doc struct {
		Timers, Due, Step int64
		Visible           bool
	}
	switch {
	case strings.Contains(fn.definition.Code, "createTimer"):
		if err := json.Unmarshal([]byte("{"+body), &doc); err != nil {
			panic(err)
		}
		for i := range doc.Timers {
			due := doc.Due + i*doc.Step
			name := fmt.Sprintf("%s-%d@%d", id, i, due)
			fn.created++
			if wait := time.Until(time.UnixMilli(due)); wait < time.Hour {
				time.AfterFunc(wait, func() {
					f.mu.Lock()
					defer f.mu.Unlock()
					if fn.fired++; doc.Visible {
						target.put(name, map[string]json.RawMessage{})
					}
				})
			}
		}
	case strings.Contains(fn.definition.Code, "dst["):
		var members map[string]json.RawMessage
		if err := json.Unmarshal([]byte("{"+body), &members); err != nil {
			panic(err)
		}
		target.put(id, members)
	}
}

// continuous tells of all documents, and of those that come, until the client goes. The mutex is
// held.
func (f *fake) continuous(w http.ResponseWriter, r *http.Request, db *fakeDB) {
	fmt.Fprintln(w)
	told := map[string]int{}
	for r.Context().Err() == nil {
		for _, id := range db.ids() {
			if doc := db.docs[id]; doc.rev > told[id] {
				told[id] = doc.rev
				fmt.Fprintf(w, `{"seq":1,"id":%q,"changes":[]`, id)
				if r.URL.Query().Has("include_docs") {
					fmt.Fprintf(w, `,"doc":%s`, db.get(id))
				}
				fmt.Fprintln(w, "}")
			}
		}
		w.(http.Flusher).Flush()
		changed := db.changed
		f.mu.Unlock()
		select {
		case <-changed:
		case <-r.Context().Done():
		}
		f.mu.Lock()
	}
}
