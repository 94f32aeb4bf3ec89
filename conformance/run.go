package conformance

import (
	"context"
	"crypto/rand"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

// The administrator every server under test knows.
const (
	AdminName     = "admin"
	AdminPassword = "password"
)

const (
	untilLimit = 10 * time.Second
	untilPause = 100 * time.Millisecond
	// prefix of the text that replaces a value which an answer did not have
	unsaved         = "unsaved-"
	backgroundPause = 300 * time.Millisecond // lets a background request reach the server before the next step
)

// variable is a value that $name stands for. Their order matters where one value is a part of
// another.
type variable struct{ name, value string }

// outcome is an answer, or why there is none.
type outcome struct {
	answer *Answer
	err    error
}

// Run performs the steps of one scenario on one server. It is not safe for concurrent use.
type Run struct {
	// Where the server is, as host:port.
	addr  string
	nodes []string // that addr leads to, if they are several
	// What steps have saved, in the order in which they did.
	vars []variable
	// Answers to steps that run beside others, by their names.
	background map[string]chan outcome
}

// NewRun makes a run with fresh database names on the server at addr (host:port), which may lead to
// nodes in turn. What scenarios set for the life of a server's process is kept then, or it would
// hold at one of them.
func NewRun(addr string, nodes ...string) *Run {
	var random [5]byte
	rand.Read(random[:])
	tag := "g" + hex.EncodeToString(random[:])
	return &Run{
		addr:       addr,
		nodes:      nodes,
		vars:       []variable{{"db", tag + "a"}, {"db2", tag + "b"}, {"db3", tag + "c"}, {"host", addr}},
		background: map[string]chan outcome{},
	}
}

var variableName = regexp.MustCompile(`\$([a-zA-Z_][a-zA-Z_0-9]*)`)

// fill replaces $name by its value; an unknown name stays.
func (r *Run) fill(s string) string {
	return variableName.ReplaceAllStringFunc(s, func(ref string) string {
		for _, v := range r.vars {
			if v.name == ref[1:] {
				return v.value
			}
		}
		return ref
	})
}

// setVariable saves a value under a name, in the place of an earlier one.
func (r *Run) setVariable(name, value string) {
	for i := range r.vars {
		if r.vars[i].name == name {
			r.vars[i].value = value
			return
		}
	}
	r.vars = append(r.vars, variable{name, value})
}

// Perform does the step and returns the answer as it came; nil for a request left in the
// background. A request without an answer gives one with status 0. The error is about the scenario
// itself.
func (r *Run) Perform(ctx context.Context, st *Step) (*Answer, error) {
	if err := pause(ctx, st.Sleep); err != nil {
		return nil, err
	}
	if st.Join != "" {
		pending, ok := r.background[st.Join]
		if !ok {
			return nil, fmt.Errorf("nothing runs under the label %q", st.Join)
		}
		delete(r.background, st.Join)
		return answerOf(<-pending), nil
	}
	req, err := r.request(st)
	if err != nil {
		return nil, err
	}
	if st.Background != "" {
		pending := make(chan outcome, 1)
		r.background[st.Background] = pending
		go func() {
			answer, err := req.exchange(ctx, r.addr)
			pending <- outcome{answer, err}
		}()
		return nil, pause(ctx, backgroundPause)
	}
	until := st.Until
	if strings.Contains(req.target, unsaved) {
		until = "" // nothing changes about what is not there
	}
	answer, err := r.repeat(ctx, req, until)
	if err != nil {
		return nil, err
	}
	return answer, r.save(answer, st.Save)
}

// repeat sends req once, or until the answer's body matches.
func (r *Run) repeat(ctx context.Context, req *request, until string) (*Answer, error) {
	deadline := time.Now().Add(untilLimit)
	for {
		got, err := req.exchange(ctx, r.addr)
		answer := answerOf(outcome{got, err})
		if until == "" {
			return answer, nil
		}
		ok, err := matches(until, strings.ToValidUTF8(string(answer.Body), "\uFFFD"))
		if ok || err != nil || time.Now().After(deadline) {
			return answer, err
		}
		if err := pause(ctx, untilPause); err != nil {
			return nil, err
		}
	}
}

// answerOf makes an answer of a request that failed, so that it is compared like others.
func answerOf(o outcome) *Answer {
	if o.err != nil {
		return &Answer{Headers: map[string]string{}, Body: []byte("no answer: " + o.err.Error())}
	}
	return o.answer
}

func pause(ctx context.Context, d time.Duration) error {
	if d <= 0 {
		return nil
	}
	select {
	case <-time.After(d):
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

// request builds the step's request with all variables filled in.
func (r *Run) request(st *Step) (*request, error) {
	method, target, ok := strings.Cut(r.fill(st.Do), " ")
	if !ok {
		return nil, fmt.Errorf("%q is no request", st.Do)
	}
	req := &request{method: method, target: target}
	req.headers = r.headers(st)
	switch st.Body.Kind {
	case JSONBody:
		body, err := mapStrings(st.Body.Data, r.fill)
		if err != nil {
			return nil, fmt.Errorf("json body: %w", err)
		}
		req.body = body
		req.headers = withDefault(req.headers, "Content-Type", "application/json")
	case TextBody:
		req.body = []byte(r.fill(string(st.Body.Data)))
	case RawBody:
		req.body = st.Body.Data
	}
	return req, nil
}

// headers are Accept: application/json, the step's own, and the credentials.
func (r *Run) headers(st *Step) []Header {
	accept := "application/json"
	headers := []Header{{"Accept", &accept}}
	for _, h := range st.Headers {
		if h.Value != nil {
			filled := r.fill(*h.Value)
			h.Value = &filled
		}
		headers = setHeader(headers, Header{r.fill(h.Name), h.Value})
	}
	kept := headers[:0]
	for _, h := range headers {
		if h.Value != nil && !(len(r.nodes) > 0 && h.Name == "X-Couch-Persist") {
			kept = append(kept, h)
		}
	}
	if st.Anonymous || (&request{headers: kept}).has("Authorization") {
		return kept
	}
	credentials := AdminName + ":" + AdminPassword
	if st.User != nil {
		credentials = r.fill(strings.Join(st.User, ":"))
	}
	return withDefault(kept, "Authorization", "Basic "+base64.StdEncoding.EncodeToString([]byte(credentials)))
}

// setHeader replaces the header with exactly the same name in its place, or appends it. Case
// counts: a step that spells a default header in another way means to send both.
func setHeader(headers []Header, h Header) []Header {
	for i := range headers {
		if headers[i].Name == h.Name {
			headers[i] = h
			return headers
		}
	}
	return append(headers, h)
}

// withDefault adds a header unless the step has it, even without a value: null leaves it out.
func withDefault(headers []Header, name, value string) []Header {
	for _, h := range headers {
		if h.Name == name {
			return headers
		}
	}
	return append(headers, Header{name, &value})
}

// save takes the values a step asks for out of its answer. What is not there becomes
// "unsaved-NAME", so that the steps that use it fail visibly, and at once.
func (r *Run) save(answer *Answer, saves []Save) error {
	for _, s := range saves {
		spec, expr, hasExpr := strings.Cut(s.Spec, "~")
		part, path, _ := strings.Cut(spec, ".")
		var value string
		switch {
		case part == "header":
			value = answer.Headers[strings.ToLower(path)]
		case path == "":
			value = strings.ToValidUTF8(string(answer.Body), "\uFFFD")
		default:
			found, ok := jsonPath(answer.Body, strings.Split(path, "."))
			if !ok {
				found = unsaved + s.Name
			}
			value = found
		}
		if hasExpr {
			found, ok, err := extract(expr, value)
			if err != nil {
				return err
			}
			if !ok {
				found = unsaved + s.Name
			}
			value = found
		}
		r.setVariable(s.Name, value)
	}
	return nil
}

// jsonPath returns the text of the value that path leads to: a string's content, else the JSON
// text.
func jsonPath(src []byte, path []string) (string, bool) {
	if !json.Valid(src) {
		return "", false
	}
	at := json.RawMessage(src)
	for _, name := range path {
		var list []json.RawMessage
		if json.Unmarshal(at, &list) == nil && list != nil {
			i, err := strconv.Atoi(name)
			if err != nil || i < 0 || i >= len(list) {
				return "", false
			}
			at = list[i]
			continue
		}
		ms, err := parseMembers(at)
		if err != nil {
			return "", false
		}
		if at = ms.get(name); at == nil {
			return "", false
		}
	}
	var s string
	if at[0] == '"' && json.Unmarshal(at, &s) == nil {
		return s, true
	}
	return string(at), true
}

// Cleanup ends what still runs in the background and deletes the run's databases. Failures do not
// matter: the names are never used again.
func (r *Run) Cleanup(ctx context.Context) {
	for _, pending := range r.background {
		<-pending
	}
	for _, name := range []string{"$db", "$db2", "$db3"} {
		if req, err := r.request(&Step{Do: "DELETE /" + name}); err == nil {
			_, _ = req.exchange(ctx, r.addr)
		}
	}
}
