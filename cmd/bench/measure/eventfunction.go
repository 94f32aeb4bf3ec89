package measure

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"time"
)

const (
	eventingPath = "/_eventing/api/v1"
	// eventPoll is how often the statistics of a function are looked at.
	eventPoll = 5 * time.Millisecond
	// eventLimit bounds how long a function may take for what it is given.
	eventLimit = 30 * time.Minute
	// followLimit bounds how long a program in a function's place is measured: many writes one by
	// one take minutes.
	followLimit = 10 * time.Second
)

// errNoFunctions says that a server has no event functions, and that no other program can be
// measured in their place.
var errNoFunctions = errors.New("has no event functions")

// The handlers. eventTimers makes as many timers as the document says; those with a name write it
// elsewhere.
const (
	eventNothing = `function OnUpdate(doc, meta) {}`
	eventCopy    = `function OnUpdate(doc, meta) { dst[meta.id] = doc; }`
	eventTimers  = `function OnUpdate(doc, meta) {
  for (let i = 0; i < doc.timers; i++) {
    const due = doc.due + i * doc.step, name = meta.id + '-' + i;
    createTimer(fire, new Date(due), name, doc.visible ? {name: name + '@' + due} : {});
  }
}
function fire(context) { if (context.name) dst[context.name] = {}; }`
)

// eventFunction is an event function of a session, stored and not yet deployed.
type eventFunction struct {
	s          *session
	name, path string
}

// eventStats are the parts of a function's statistics that tell whether it is done.
type eventStats struct {
	Backlog struct {
		Events int64 `json:"dcp_backlog"`
	} `json:"events_remaining"`
	Execution struct {
		Processed int64 `json:"num_processed_events"`
		Failed    int64 `json:"on_update_failure"`
		Created   int64 `json:"timer_create_counter"`
		Fired     int64 `json:"timer_msg_counter"`
	} `json:"execution_stats"`
}

// hasFunctions asks a server whether it has event functions; the answer is remembered.
func (s *session) hasFunctions(ctx context.Context) (bool, error) {
	if s.functionsKnown {
		return s.functions, nil
	}
	c, err := s.connect(ctx, requestLimit)
	if err != nil {
		return false, err
	}
	defer c.close()
	resp, err := c.do(ctx, &request{method: "GET", path: []byte(eventingPath + "/status")}, http.StatusOK)
	switch {
	case err == nil:
		s.functions = true
	case resp.status != http.StatusNotFound && resp.status != http.StatusBadRequest: // no database can have that name
		return false, err
	}
	s.functionsKnown = true
	return s.functions, nil
}

// needFunctions is an error if the server has no event functions.
func (s *session) needFunctions(ctx context.Context) error {
	has, err := s.hasFunctions(ctx)
	if err == nil && !has {
		err = errNoFunctions
	}
	return err
}

// needFunctionsOrFeed is an error if the server has neither event functions nor a feed that a
// program can follow in their place.
func (s *session) needFunctionsOrFeed(ctx context.Context) error {
	err := s.needFunctions(ctx)
	if !errors.Is(err, errNoFunctions) {
		return err
	}
	welcome, welcomeErr := s.request(ctx, "GET", "/", nil, http.StatusOK)
	if welcomeErr != nil {
		return welcomeErr
	}
	if !bytes.Contains(welcome, []byte(`"couchdb":"Welcome"`)) {
		return err
	}
	return nil
}

// function stores a function with a source; it may write the database target, if that is not "".
func (s *session) function(ctx context.Context, name, code, source, target string) (*eventFunction, error) {
	f := &eventFunction{s: s, name: s.prefix + name}
	f.path = eventingPath + "/functions/" + f.name
	type bucket struct {
		Alias  string `json:"alias"`
		Name   string `json:"bucket_name"`
		Access string `json:"access"`
	}
	buckets := []bucket{}
	if target != "" {
		buckets = append(buckets, bucket{Alias: "dst", Name: s.prefix + target, Access: "rw"})
	}
	definition, err := json.Marshal(map[string]any{
		"appname": f.name, "appcode": code,
		"depcfg":   map[string]any{"source_bucket": s.prefix + source, "buckets": buckets},
		"settings": map[string]any{"dcp_stream_boundary": "everything", "worker_count": s.size.eventWorkers},
	})
	if err != nil {
		return nil, err
	}
	if _, err := s.request(ctx, "POST", f.path, definition, http.StatusOK); err != nil {
		return nil, err
	}
	s.deployable = append(s.deployable, f)
	return f, nil
}

func (f *eventFunction) deploy(ctx context.Context) error {
	return f.operate(ctx, "deploy", "deployed")
}

func (f *eventFunction) undeploy(ctx context.Context) error {
	return f.operate(ctx, "undeploy", "undeployed")
}

// operate begins an operation and waits until the function is in the state where it ends.
func (f *eventFunction) operate(ctx context.Context, operation, state string) error {
	answer, err := f.s.request(ctx, "POST", f.path+"/"+operation+"?wait=100s", nil, http.StatusOK)
	if err == nil && !bytes.Contains(answer, []byte(" is "+state+`"`)) {
		err = fmt.Errorf("%s: %s", operation, answer)
	}
	return err
}

// remove undeploys a function, unless it is, and deletes it.
func (f *eventFunction) remove(ctx context.Context) error {
	f.s.deployable = slices.DeleteFunc(f.s.deployable, func(g *eventFunction) bool { return g == f })
	// The answer of one that is not deployed is an error that does not matter: the deletion tells.
	_ = f.undeploy(ctx)
	_, err := f.s.request(ctx, "DELETE", f.path, nil, http.StatusOK)
	return err
}

func (f *eventFunction) stats(ctx context.Context) (*eventStats, error) {
	answer, err := f.s.request(ctx, "GET", eventingPath+"/stats/"+f.name, nil, http.StatusOK)
	if err != nil {
		return nil, err
	}
	stats := new(eventStats)
	if err := json.Unmarshal(answer, stats); err != nil {
		return nil, fmt.Errorf("statistics of a function: %w", err)
	}
	if stats.Execution.Failed > 0 {
		return nil, fmt.Errorf("%d handlers have failed", stats.Execution.Failed)
	}
	return stats, nil
}

// until waits until the statistics of a function show that it is done.
func (f *eventFunction) until(ctx context.Context, done func(*eventStats) bool) error {
	for end := time.Now().Add(eventLimit); ; {
		stats, err := f.stats(ctx)
		if err != nil || done(stats) {
			return err
		}
		if time.Now().After(end) {
			return fmt.Errorf("the function is not done after %v: %+v", eventLimit, *stats)
		}
		if err := sleep(ctx, eventPoll); err != nil {
			return err
		}
	}
}

// processed waits until a function has processed so many documents, and there are no others.
func (f *eventFunction) processed(ctx context.Context, documents int64) error {
	return f.until(ctx, func(st *eventStats) bool {
		return st.Backlog.Events == 0 && st.Execution.Processed >= documents
	})
}
