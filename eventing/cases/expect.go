package cases

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/settee-db/settee/eventing/folder"
)

// compare tells how what is there differs from what is wanted, both JSON; "" where they mean the same.
func compare(what string, want, got json.RawMessage) (string, error) {
	wanted, err := canonical(want)
	if err != nil {
		return "", err
	}
	there, err := canonical(got)
	if err != nil || wanted == there {
		return "", err
	}
	return folder.Diff(wanted, there, what+" (expected)", what+" (there)"), nil
}

// canonical prints JSON a member or element a line, members in order. Numbers stay as they are.
func canonical(text json.RawMessage) (string, error) {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		return "", err
	}
	var b strings.Builder
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	e.SetIndent("", " ")
	err := e.Encode(v)
	return b.String(), err
}

// expect tells what is not as it is expected.
func (r *run) expect(want *Expected) (failed []string, err error) {
	lines, err := r.Log(r.ctx)
	if err != nil {
		return nil, err
	}
	logged, failures := []string{}, []string{}
	for _, l := range lines {
		if l.Level == "ERROR" {
			first, _, _ := strings.Cut(l.Text, "\n") // the stack follows
			failures = append(failures, first)
		} else {
			logged = append(logged, l.Text)
		}
	}
	timers, err := r.Timers(r.ctx)
	if err != nil {
		return nil, err
	}
	dead, err := r.DeadLetters(r.ctx)
	if err != nil {
		return nil, err
	}
	for _, part := range []struct {
		name string
		want json.RawMessage
		got  any
	}{
		{"log", want.Log, logged}, {"failures", want.Failures, failures}, {"timers", want.Timers, timers},
		{"calls", want.Calls, append([]call{}, r.servers.calls...)}, {"published", want.Published, r.Published()},
		{"dead_letters", want.Dead, dead},
	} {
		if part.name == "failures" && part.want == nil {
			part.want = json.RawMessage("[]")
		}
		if part.want == nil {
			continue
		}
		if failed, err = r.same(failed, part.name, part.want, part.got); err != nil {
			return nil, err
		}
	}
	names := make([]string, 0, len(want.Documents))
	for database := range want.Documents {
		names = append(names, database)
	}
	slices.Sort(names)
	for _, database := range names {
		there, err := r.documents(database)
		if err != nil {
			return nil, err
		}
		wanted, err := json.Marshal(want.Documents[database])
		if err != nil {
			return nil, err
		}
		if failed, err = r.same(failed, "documents of "+database, wanted, there); err != nil {
			return nil, err
		}
	}
	return failed, nil
}

// same appends how what is there differs from what is wanted, if it does.
func (r *run) same(failed []string, what string, want json.RawMessage, got any) ([]string, error) {
	text, err := json.Marshal(got)
	if err != nil {
		return nil, err
	}
	diff, err := compare(what, want, text)
	if diff != "" {
		failed = append(failed, diff)
	}
	return failed, err
}
